"""Decoding: one token more for each sequence, every step reading weights and cache."""

from __future__ import annotations

from dataclasses import dataclass

from wallsite._checks import count, positive
from wallsite.explain import text
from wallsite.explain.answer import ABOVE, HEALTHY, NEAR, Bound, Explanation, band, judged
from wallsite.explain.causes import causes
from wallsite.explain.ledger import Ledger, ledger
from wallsite.explain.machine import Machine
from wallsite.explain.model import ModelRun, described
from wallsite.explain.text import phrase
from wallsite.tables.schema import Text

_PAGE = "three-walls/memory.md#is-it-normal"
_PCIE = 25e9  # byte/s that a copy over PCIe 4 ×16 reaches; only an order of size is told with it


@dataclass(frozen=True)
class Decode:
    """A decode that was run, or is planned.

    Attributes:
        model: what was run.
        batch: sequences decoded together; None if it was not said.
        context: tokens in the cache of each; None if it was not said.
        tokens_per_second: of all sequences together.
        seconds: of one step, instead.
        reserved: bytes of memory on each device for other things than weights and cache.
    """

    model: ModelRun
    batch: int | None = None
    context: int | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None
    reserved: float = 0.0


def decode(run: Decode, machine: Machine) -> Explanation:
    """Explain a decode: the bytes of a step against bandwidth, its FLOPs against the peak.

    Raises:
        ValueError: the size of the model or the bandwidth is not known, or a number is out of
            range.
    """
    model = run.model
    batch, context = count("batch", run.batch or 1), count("context", run.context or 0, 0)
    if machine.all_bandwidth is None:
        raise ValueError("no memory bandwidth: give --device, --bandwidth or --memory")
    if model.resident is None or model.read(1) is None:
        return _without_bits(run, machine)
    weights, cache = model.read(batch) or 0.0, model.cache(context) * batch
    bounds = _bounds(run, machine, weights, cache)
    measured = _step(run, batch)
    share = bounds[0].value / measured if measured else None
    books = ledger(machine, model, batch, context, run.reserved)
    wall = judged(bounds, share)
    if not books.fits and band(share) not in {HEALTHY, NEAR, ABOVE}:
        wall = "capacity"
    notes = [*machine.warnings, *_notes(run, machine, measured, share)]
    notes += _offloading(books)
    return Explanation(
        recognized=(*machine.lines, *_recognized(run, machine, batch, context)),
        bounds=bounds,
        measured=_measured(measured, batch),
        share=share,
        wall=wall,
        causes=causes("decode", machine.kind, band(share), _situation(run, machine))
        if share
        else (),
        following=_following(wall, band(share), machine),
        page=_page(wall),
        notes=(*notes, *books.lines),
        missing=_missing(run, machine),
        sources=machine.sources,
    )


def _situation(run: Decode, machine: Machine) -> set[str]:
    known = {
        "many": machine.count > 1,
        "batch": (run.batch or 1) > 1,
        "quantized": (run.model.width or 2) < 9 / 8,
    }
    return {name for name, holds in known.items() if holds}


def _bounds(run: Decode, machine: Machine, weights: float, cache: float) -> tuple[Bound, ...]:
    model, batch = run.model, run.batch or 1
    assert machine.all_bandwidth
    moved = weights + cache
    seconds = moved / machine.all_bandwidth
    arithmetic = phrase(
        "{bytes} a step ÷ {bandwidth} = {time}: at most {rate}",
        bytes=(f"({text.size(weights)} + {text.size(cache)})" if cache else text.size(weights)),
        bandwidth=_times(machine, text.rate(machine.bandwidth or 0.0)),
        time=text.duration(seconds),
        rate=text.per_second(batch / seconds),
    )
    bounds = [Bound("memory", seconds, "s", arithmetic)]
    if machine.all_peak and model.used:
        flops = 2 * model.used * batch
        busy = flops / machine.all_peak
        arithmetic = phrase(
            "2 × {used} × {batch} FLOP ÷ {peak} = {time}",
            used=text.parameters(model.used),
            batch=batch,
            peak=_times(machine, text.prefixed(machine.peak or 0.0, "FLOP/s")),
            time=text.duration(busy),
        )
        bounds.append(Bound("compute", busy, "s", arithmetic))
    return tuple(sorted(bounds, key=lambda bound: -bound.value))


def _times(machine: Machine, one: str) -> str:
    return f"({machine.count} × {one})" if machine.count > 1 else one


def _step(run: Decode, batch: int) -> float | None:
    if run.seconds is not None:
        return positive("seconds", run.seconds)
    if run.tokens_per_second is not None:
        return batch / positive("tokens_per_second", run.tokens_per_second)
    return None


def _measured(step: float | None, batch: int) -> Text | None:
    if step is None:
        return None
    return phrase(
        "{rate}: {time} a step", rate=text.per_second(batch / step), time=text.duration(step)
    )


def _recognized(run: Decode, machine: Machine, batch: int, context: int) -> list[Text]:
    lines = [described(run.model)]
    lines.append(
        phrase(
            "decode: batch {batch}, context {context}, {count} device(s)",
            batch=batch,
            context=f"{context:,}",
            count=machine.count,
        )
    )
    model = run.model
    if model.active and model.params and model.experts and batch > 1:
        lines.append(
            phrase(
                "{chosen} of {total} experts for each of {batch} tokens: {touched} parameters are "
                "read, routing taken as uniform",
                chosen=model.experts[1],
                total=model.experts[0],
                batch=batch,
                touched=text.parameters(model.touched(batch)),
            )
        )
    return lines


def _missing(run: Decode, machine: Machine) -> tuple[Text, ...]:
    model, missing = run.model, []
    if run.batch is None:
        missing.append(
            phrase("--batch: one sequence was taken; with n the bound is up to n times as high")
        )
    if run.context is None:
        if model.kv_per_token:
            missing.append(
                phrase(
                    "--context: the cache was left out; it is {cache} a token and sequence",
                    cache=text.binary(model.kv_per_token),
                )
            )
        else:
            missing.append(
                phrase("--context: the cache was left out; it adds to the bytes of a step")
            )
    elif run.context and not model.kv_per_token:
        missing.append(
            phrase(
                "--kv-per-token, or --layers, --kv-heads and --head-dim: without them the cache "
                "of this context is not counted"
            )
        )
    if model.active and not model.experts and (run.batch or 1) > 1:
        missing.append(
            phrase(
                "--experts all/used: without it the step reads the active parameters only, which "
                "is too few for a batch; all of them would be {all}",
                all=text.size(model.resident or 0.0),
            )
        )
    if machine.peak is None:
        missing.append(phrase("--peak: without it compute is not compared"))
    return tuple(missing)


def _without_bits(run: Decode, machine: Machine) -> Explanation:
    """Nothing is assumed: the bound for 16 and for 4 bits, and no verdict."""
    model = run.model
    if not model.used:
        raise ValueError("no size of the model: give --model, --params or --file-size")
    assert machine.all_bandwidth
    bounds = tuple(
        Bound(
            "memory",
            model.used * bits / 8 / machine.all_bandwidth,
            "s",
            phrase(
                "at {bits} bits: {bytes} ÷ {bandwidth}: at most {rate} for one sequence",
                bits=bits,
                bytes=text.size(model.used * bits / 8),
                bandwidth=_times(machine, text.rate(machine.bandwidth or 0.0)),
                rate=text.per_second(8 * machine.all_bandwidth / bits / model.used),
            ),
        )
        for bits in (16, 8, 4)
    )
    return Explanation(
        recognized=(*machine.lines, described(model)),
        bounds=bounds,
        measured=_measured(_step(run, run.batch or 1), run.batch or 1),
        following=phrase(
            "Say how many bits a weight has (--bits, fractions too) or give --file-size."
        ),
        page=_PAGE,
        notes=machine.warnings,
        missing=(phrase("--bits or --file-size: the bound depends on it; 4 to 16 bits are usual"),),
        sources=machine.sources,
    )


def _notes(run: Decode, machine: Machine, step: float | None, share: float | None) -> list[Text]:
    notes: list[Text] = []
    model, batch = run.model, run.batch or 1
    if step and machine.count > 1 and model.layers and (share or 1) < 0.5:
        messages = 2 * model.layers
        size = f"{text.binary(2 * model.hidden * batch)} " if model.hidden else ""
        notes.append(
            phrase(
                "tensor parallel: {messages} all-reduces of {size}a step, so each takes at most "
                "{each} with all work in between. At this size latency counts, not bandwidth: "
                "measure small messages alone",
                messages=messages,
                size=size,
                each=text.duration(step / messages),
            )
        )
    if step and (share or 1) < 0.5 and model.layers and machine.count == 1:
        notes.append(
            phrase(
                "{time} a step is {each} a layer: compare with the bound’s {floor}",
                time=text.duration(step),
                each=text.duration(step / model.layers),
                floor=text.duration(step * (share or 0.0) / model.layers),
            )
        )
    if model.kv_per_token and run.context and machine.all_peak and model.used:
        limit = 2 * model.used / model.cache(run.context)
        ridge = machine.all_peak / (machine.all_bandwidth or 1.0)
        if limit < ridge:
            notes.append(
                phrase(
                    "at this context no batch makes it compute-bound: intensity stays below "
                    "{limit} FLOP/byte (2 × parameters ÷ cache), the ridge point is {ridge}",
                    limit=text.significant(limit),
                    ridge=text.significant(ridge),
                )
            )
    cache = machine.device.fields.get("cache") if machine.device else None
    if cache and share and share > 1 and (model.read(batch) or 0) < 4 * cache.si:
        notes.append(
            phrase(
                "the weights are less than four times the last-level cache of {cache}",
                cache=text.binary(cache.si),
            )
        )
    return notes


def _offloading(books: Ledger) -> list[Text]:
    if books.fits or books.over is None:
        return []
    return [
        phrase(
            "{over} do not fit: read over PCIe at about 25 GB/s they alone take {time} a step",
            over=text.binary(books.over),
            time=text.duration(books.over / _PCIE),
        )
    ]


def _following(wall: str, name: str, machine: Machine) -> Text:
    if wall == "capacity":
        return phrase(
            "Make it fit first: fewer bits, a shorter context, more devices. Then measure again."
        )
    if name == ABOVE:
        return phrase("Find out which line of the list is true before you use the number.")
    if name in {HEALTHY, NEAR}:
        return phrase(
            "To go faster, read fewer bytes for each token: fewer bits, a larger batch, drafts."
        )
    if machine.kind == "cpu":
        return phrase("Run wallsite probe here and judge decode by its read-only bandwidth.")
    if name == "not-judged":
        return phrase("Measure tokens/s of one sequence and give it as --tokens-per-second.")
    return phrase("Turn the first cause off and measure the same thing again.")


def _page(wall: str) -> str:
    if wall == "none":
        return "three-walls/memory.md#not-a-wall"
    return "three-walls/memory.md#capacity" if wall == "capacity" else _PAGE
