"""Is my number normal? From flags, a file or standard input."""

# ruff: noqa: PLC0415

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from wallsite.cli.common import NO_SUCH_NAME, USAGE, exit_codes

if TYPE_CHECKING:
    from wallsite.explain import Explanation, Machine, ModelRun
    from wallsite.topology import Topology

_PHASES = ("decode", "prefill", "training")


class _Read(NamedTuple):
    """How an option's text is read, and what stands for it in the help."""

    read: Callable[[str], Any]
    shown: str

    def __call__(self, context: click.Context, parameter: click.Parameter, text: Any) -> Any:
        if text is None or isinstance(text, tuple):
            return text and tuple(self(context, parameter, each) for each in text)
        try:
            return self.read(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None


def _quantity(what: str, shown: str) -> _Read:
    def read(text: str) -> float:
        from wallsite.quantity import quantity

        return quantity(text, what)

    return _Read(read, shown)


def _experts(text: str) -> tuple[int, int]:
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdecimal() and int(part) for part in parts):
        raise ValueError(f"{text!r} is not written all/used, such as 256/8")
    return int(parts[0]), int(parts[1])


def _sides(text: str) -> tuple[int, int, int]:
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) for part in parts):
        raise ValueError(f"{text!r} is not written MxNxK, such as 4096x4096x4096")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _widths(text: str) -> tuple[float, float, float]:
    try:
        a, b, c = (float(part) for part in text.split("/"))
    except ValueError:
        raise ValueError(f"{text!r} is not written A/B/C in bytes, such as 1/1/2") from None
    return a, b, c


def _share(text: str) -> tuple[str, float]:
    name, _, number = text.partition("=")
    try:
        return name, float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        message = f"{text!r} is not written name=share, such as dram_active=0.85"
        raise ValueError(message) from None


_BYTES, _RATE = _quantity("byte", "BYTES"), _quantity("byte/s", "BYTES/S")
_FLOP, _PEAK = _quantity("FLOP", "FLOP"), _quantity("FLOP/s", "FLOP/S")
_SECONDS, _HERTZ = _quantity("s", "TIME"), _quantity("Hz", "HZ")
_TOKENS, _NUMBER = _quantity("token/s", "TOKENS/S"), _quantity("1", "NUMBER")
_WHOLE, _NATURAL = click.IntRange(1), click.IntRange(0)

# What was measured on, by group of the help.
_OPTIONS: Sequence[tuple[str, Any, str]] = (
    ("--device", str, "A device of the catalog: rtx-4090, h100-sxm, epyc-9654, m4-max …"),
    ("--count", _WHOLE, "Devices that share the work.  [default: 1]"),
    ("--kind", str, "Kind of a device not in the catalog: gpu, cpu, npu or unified."),
    ("--bandwidth", _RATE, "Memory bandwidth of one device: 460.8GB/s."),
    ("--peak", _PEAK, "Dense peak of one device: 312TFLOP/s."),
    ("--dtype", str, "Data type of the peak."),
    ("--memory", str, "Memory channels of one socket: 12xDDR5-4800."),
    ("--sockets", _WHOLE, "Processors in the machine.  [default: 1]"),
    ("--capacity", _BYTES, "Memory of one device: 24GiB."),
    ("--clock", _HERTZ, "Clock that was measured: the peak is taken at it."),
    ("--reserved", _BYTES, "Memory of one device for other than weights and cache."),
    ("--model", str, "A model of the catalog: llama-3-8b, deepseek-v3 …"),
    ("--params", _NUMBER, "All parameters: 8B."),
    ("--active", _NUMBER, "Parameters that a token uses: 37B."),
    ("--bits", float, "Bits of a weight, fractions too: 4.5."),
    ("--file-size", _BYTES, "Bytes of all weights: 4.58GiB."),
    (
        "--experts",
        _Read(_experts, "ALL/USED"),
        "Routed experts of a layer and how many a token uses: 256/8.",
    ),
    ("--kv-per-token", _BYTES, "Cache of a token: 128KiB."),
    ("--kv-bits", float, "Bits of a cached element.  [default: 16]"),
    ("--layers", _WHOLE, "Layers of the model."),
    ("--kv-heads", _WHOLE, "KV heads."),
    ("--head-dim", _WHOLE, "Size of a head."),
    ("--window", _NATURAL, "Tokens that layers with a sliding window keep."),
    ("--windowed", float, "Share of the layers with a window.  [default: 1]"),
    ("--phase", click.Choice(_PHASES), "What the model did.  [default: decode]"),
    ("--batch", _WHOLE, "Sequences together."),
    ("--context", _NATURAL, "Tokens in the cache of each; in training, of a sequence."),
    ("--prompt", _WHOLE, "Tokens of a prompt."),
    ("--tokens-per-second", _TOKENS, "Of all sequences and devices together."),
    ("--time", _SECONDS, "Of a step, a prefill, a kernel or a collective: 17ms."),
    ("--tokens", _NUMBER, "Tokens of a training step on all devices."),
    ("--zero", click.IntRange(0, 3), "Stage of ZeRO.  [default: 0]"),
    ("--micro-batches", _WHOLE, "Of a training step.  [default: 1]"),
    ("--trained", _NUMBER, "Parameters with gradients, fewer than all with LoRA."),
    ("--alone", _TOKENS, "Tokens/s of one device by itself: gives the efficiency of scaling."),
    ("--flops", _FLOP, "Operations of a kernel: 2.1TFLOP."),
    ("--bytes", _BYTES, "Bytes that a kernel moved, reads and writes."),
    ("--gemm", _Read(_sides, "MxNxK"), "A matrix product instead, with --widths."),
    ("--widths", _Read(_widths, "A/B/C"), "Bytes of an element of each matrix.  [default: 2/2/2]"),
    ("--copy", _BYTES, "Size of an array that was copied within a device, with --time."),
    ("--rate", _RATE, "A measured rate of bytes, of a memory or, with --link, of a link."),
    ("--moved", float, "Bytes moved for each byte counted.  [default: 1]"),
    ("--threads", _WHOLE, "Threads that took part."),
    ("--shared-by", _WHOLE, "Devices behind one switch or root port that use the link at once."),
    ("--both", bool, "The rate adds both directions."),
    (
        "--collective",
        str,
        "all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, send-recv.",
    ),
    ("--size", _BYTES, "Of the collective, as nccl-tests counts it."),
    ("--busbw", _RATE, "As nccl-tests computes it."),
    ("--algbw", _RATE, "Size ÷ time."),
    ("--ranks", _WHOLE, "Devices in the collective."),
    ("--nodes", _WHOLE, "That they are spread over."),
    ("--link", str, "One direction of a link: 450GB/s, pcie4-x16, nvlink4, ib-ndr."),
    ("--nics", _WHOLE, "NICs of a node.  [default: 1]"),
    ("--nic", str, "One direction of a NIC: 400Gb/s, ib-ndr."),
    ("--algorithm", str, "ring, tree, in-switch or hierarchical."),
    ("--counter", _Read(_share, "NAME=SHARE"), "A counter, may be repeated: dram_active=0.85."),
)


def _all_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, kind, words in reversed(_OPTIONS):
        how: dict[str, Any] = {"type": kind}
        if kind is bool:
            how = {"is_flag": True}
        elif isinstance(kind, _Read):
            how = {"callback": kind, "metavar": kind.shown}
        command = click.option(name, help=words, multiple=name == "--counter", **how)(command)
    return command


@click.command(
    epilog="Example: wallsite explain --device rtx-4090 --file-size 4.68GB --batch 1 "
    "--tokens-per-second 171. Or give a file, with what it does not say: wallsite explain nccl.log "
    "--device h100-sxm"
)
@click.argument("file", required=False, type=click.File("rb"))
@_all_options
@click.option(
    "--lang",
    type=click.Choice(["en", "zh"]),
    envvar="WALLSITE_LANG",
    default=lambda: "zh" if os.environ.get("LANG", "").startswith("zh") else "en",
    help="Language of the text.  [default: that of WALLSITE_LANG or LANG]",
)
@click.option("--brief", is_flag=True, help="Only bounds, share, wall, first cause and next step.")
@click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
def explain(file: Any, lang: str, brief: bool, as_json: bool, **given: Any) -> None:
    """Is my number normal? Explain a measured number, or a tool’s output in FILE.

    It prints the bound, the share of it, the wall, likely causes and what to do next. FILE may be -
    for standard input.
    """
    from wallsite.explain import printed
    from wallsite.readers import ReadError
    from wallsite.tables import UnknownName

    # What was not said; a context of 0 tokens, or stage 0 of ZeRO, was.
    given = {
        name: value
        for name, value in given.items()
        if value not in (None, ()) and value is not False
    }
    if file is None and not given:
        raise click.UsageError("nothing to explain: give a FILE, - for standard input, or flags")
    with exit_codes({UnknownName: NO_SUCH_NAME, ReadError: USAGE, ValueError: USAGE}):
        found = list(_from_file(file, given) if file else [_from_flags(given)])
    if as_json:
        listed = [printed.data(each, lang) for each in found]
        click.echo(
            json.dumps(listed if len(listed) > 1 else listed[0], ensure_ascii=False, indent=2)
        )
        return
    width = max(40, min(shutil.get_terminal_size((80, 0)).columns, 120))
    for place, each in enumerate(found):
        if place:
            click.echo()
        for line in printed.lines(each, lang, brief=brief, width=width):
            click.echo(line)


def _from_file(file: Any, given: dict[str, Any]) -> Sequence[Explanation]:
    from wallsite import readers
    from wallsite.explain.reported import Context, explained

    try:
        raw = file.read(readers.LARGEST + 1)
    except OSError as error:
        raise readers.ReadError(f"cannot read {file.name}: {error.strerror}") from None
    if raw[:1] == b"{" and b'"measurements"' in raw:
        return [_own(raw, given)]
    context = Context(
        machine=_machine(given) if _names_machine(given) else None,
        model=_model(given) if _names_model(given) else None,
        joined=_joined(given) if given.get("link") or given.get("device") else None,
        link=_link(given["link"]) if "link" in given else None,
        ranks=given.get("ranks"),
        nodes=given.get("nodes"),
        operation=given.get("collective"),
        algorithm=given.get("algorithm"),
        batch=given.get("batch"),
    )
    return list(explained(readers.read(raw), context))


def _own(raw: bytes, given: dict[str, Any]) -> Explanation:
    """Explain a result of wallsite probe, or judge a model by the bandwidth in it."""
    from wallsite import explain as models
    from wallsite.probes import NotMeasured, Result
    from wallsite.probes.kernels import READ
    from wallsite.readers import ReadError

    try:
        result = Result.from_json(raw.decode("utf-8"))
        reading = [each for each in result.select("memory", READ.name) if each.samples]
        source = reading[0] if reading else result.headline
    except (NotMeasured, UnicodeDecodeError) as error:
        raise ReadError(f"expected a wallsite probe result with memory measured: {error}") from None
    if _names_model(given):
        # Decode only reads, so what a read-only kernel reached is the denominator.
        kind = "cpu" if result.device.kind == "cpu" else "gpu"
        return _phase({"kind": kind, **given, "bandwidth": source.bandwidth})
    if not _names_machine(given):
        if source.limit is None:
            raise ReadError(
                "the result does not know what its memory could reach: give --device, --bandwidth "
                "or --memory; or a model, to judge it by the bandwidth measured"
            )
        given = {"bandwidth": source.limit.rate, "kind": "gpu", **given}
    run = models.Rate(source.bandwidth, 1.0, f"wallsite probe, {source.kernel}", result.threads)
    return models.rate(run, _machine(given))


def _from_flags(given: dict[str, Any]) -> Explanation:  # noqa: PLR0911 - one for each subject
    from wallsite import explain as models

    if "counter" in given:
        return models.counters(dict(given["counter"]))
    if "collective" in given:
        return _collective(given)
    if "copy" in given:
        if "time" not in given:
            raise ValueError("--copy needs --time")
        machine = _machine(given)
        # A CPU also reads each line before it writes it.
        moved = given.get("moved", 3.0 if machine.kind == "cpu" else 2.0)
        return models.rate(models.Rate(given["copy"] / given["time"], moved, "copy"), machine)
    if "rate" in given and "link" in given:
        value, name = _link(given["link"])
        return models.transfer(
            models.Transfer(
                given["rate"],
                value,
                name,
                given.get("both", False),
                shared=given.get("shared_by", 1),
                network=_between_machines(given["link"]),
            )
        )
    if "rate" in given:
        run = models.Rate(given["rate"], given.get("moved", 1.0), "", given.get("threads"))
        return models.rate(run, _machine(given))
    if "gemm" in given:
        from wallsite.workload import gemm

        work = gemm(*given["gemm"], *given.get("widths", (2.0, 2.0, 2.0)))
        name = "GEMM " + "×".join(map(str, given["gemm"]))
        run_gemm = models.Kernel(work.flops, work.traffic, given.get("time"), name)
        return models.kernel(run_gemm, _machine(given))
    if "flops" in given or "bytes" in given:
        run_kernel = models.Kernel(
            given.get("flops", 0.0), given.get("bytes", 0.0), given.get("time")
        )
        return models.kernel(run_kernel, _machine(given))
    if not _names_model(given):
        raise ValueError(
            "nothing that was measured: give a model (--model, --params or --file-size), --rate, "
            "--flops or --bytes, --copy, --collective or --counter"
        )
    return _phase(given)


def _phase(given: dict[str, Any]) -> Explanation:
    from wallsite import explain as models

    machine, model = _machine(given), _model(given)
    speed, time = given.get("tokens_per_second"), given.get("time")
    if given.get("phase") == "training":
        nic = _link(given["nic"])[0] * given.get("nics", 1) if "nic" in given else None
        return models.training(
            models.Training(
                model,
                speed,
                given.get("context"),
                given.get("tokens"),
                time,
                given.get("nodes", 1),
                nic,
                given.get("zero", 0),
                given.get("micro_batches", 1),
                given.get("trained"),
                given.get("alone"),
            ),
            machine,
        )
    if given.get("phase") == "prefill":
        return models.prefill(
            models.Prefill(model, given.get("prompt"), given.get("batch", 1), speed, time), machine
        )
    return models.decode(
        models.Decode(
            model, given.get("batch"), given.get("context"), speed, time, given.get("reserved", 0.0)
        ),
        machine,
    )


def _collective(given: dict[str, Any]) -> Explanation:
    from wallsite import explain as models

    if "ranks" not in given:
        raise ValueError("--collective needs --ranks")
    run = models.Collective(
        given["collective"],
        given["ranks"],
        given.get("size"),
        given.get("time"),
        given.get("algbw"),
        given.get("busbw"),
        given.get("nodes", 1),
        given.get("algorithm"),
    )
    return models.collective(run, _joined(given))


def _names_machine(given: dict[str, Any]) -> bool:
    return any(name in given for name in ("device", "bandwidth", "peak", "memory"))


def _names_model(given: dict[str, Any]) -> bool:
    return any(name in given for name in ("model", "params", "file_size"))


def _machine(given: dict[str, Any]) -> Machine:
    from wallsite import explain as models

    names = (
        *("kind", "count", "bandwidth", "peak", "dtype", "memory", "sockets"),
        *("capacity", "clock"),
    )
    return models.machine(
        given.get("device"), **{name: given[name] for name in names if name in given}
    )


def _model(given: dict[str, Any]) -> ModelRun:
    from wallsite import explain as models

    names = (
        *("params", "active", "bits", "kv_per_token", "kv_bits", "layers", "kv_heads", "head_dim"),
        *("experts", "window", "windowed"),
    )
    return models.model_run(
        given.get("model"),
        stored=given.get("file_size"),
        **{name: given[name] for name in names if name in given},
    )


def _link(written: str) -> tuple[float, str]:
    from wallsite.explain import link_rate
    from wallsite.quantity import quantity

    if written[:1].isdigit():
        return quantity(written, "byte/s"), written
    return link_rate(written)


def _between_machines(written: str) -> bool:
    """Ports of networks are counted in bits, or stand in the catalog as scale-out."""
    from wallsite import tables

    if written[:1].isdigit():
        return "b/s" in written or "bps" in written
    return not written.casefold().startswith("pcie") and tables.link(written).tier == "scale-out"


def _joined(given: dict[str, Any]) -> Topology:
    from wallsite import tables
    from wallsite.topology import Topology

    device = tables.accelerator(given["device"]) if "device" in given else None
    if "link" in given:
        link = _link(given["link"])[0]
    elif device and device.link:
        link = device.link.bandwidth.si
    elif given.get("nodes", 1) == given.get("ranks"):
        link = _link(given["nic"])[0] if "nic" in given else 0.0
    else:
        raise ValueError("no link between the devices: give --link, or a --device that has one")
    nodes = given.get("nodes", 1)
    if nodes > 1 and "nic" not in given:
        raise ValueError("between nodes, give --nic (one direction of one NIC) and --nics")
    nic = _link(given["nic"])[0] if "nic" in given else link
    per_node = max(1, given.get("ranks", 2) // nodes)
    return Topology(per_node, link, given.get("nics", 1), nic)
