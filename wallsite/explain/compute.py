"""Prefill and training: FLOPs that the model needs against the peak."""

from __future__ import annotations

from dataclasses import dataclass

from wallsite import collectives, workload
from wallsite._checks import count, positive
from wallsite.explain import text
from wallsite.explain.answer import ABOVE, HEALTHY, NEAR, Bound, Explanation, band, judged
from wallsite.explain.causes import causes
from wallsite.explain.machine import Machine
from wallsite.explain.model import ModelRun, described
from wallsite.explain.text import phrase
from wallsite.tables.schema import Text


@dataclass(frozen=True)
class Prefill:
    """Prompts that were read.

    Attributes:
        model: what was run.
        prompt: tokens of each prompt; None if it was not said.
        batch: prompts read together.
        tokens_per_second: prompt tokens of all prompts together.
        seconds: until all of them were read, instead.
    """

    model: ModelRun
    prompt: int | None = None
    batch: int = 1
    tokens_per_second: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Training:
    """Training steps that were run.

    Attributes:
        model: what was trained.
        tokens_per_second: of all devices together.
        sequence: tokens of a sequence; None leaves attention out.
        tokens_per_step: of all devices together; needed to judge communication.
        seconds: of one step, instead of `tokens_per_second`.
        nodes: that the devices are spread over.
        network: of one node, one direction, byte/s; None: communication is not judged.
        stage: of ZeRO, 0 to 3; 0 all-reduces gradients.
        micro_batches: of a step; stage 3 gathers all weights in each.
        trained: parameters that get gradients, fewer than all with LoRA; None: all.
        alone: tokens/s of one device by itself, for the efficiency of scaling.
    """

    model: ModelRun
    tokens_per_second: float | None = None
    sequence: int | None = None
    tokens_per_step: float | None = None
    seconds: float | None = None
    nodes: int = 1
    network: float | None = None
    stage: int = 0
    micro_batches: int = 1
    trained: float | None = None
    alone: float | None = None


def prefill(run: Prefill, machine: Machine) -> Explanation:
    """Explain a prefill: 2 FLOPs a parameter and token, and causal attention, against the peak.

    Raises:
        ValueError: the peak, the model or the prompt is not known, or a number is out of range.
    """
    used, peak = _needs(run.model, machine)
    batch = count("batch", run.batch)
    if run.prompt is None and run.tokens_per_second is None:
        raise ValueError("no length of the prompt: give --prompt")
    prompt = count("prompt", run.prompt) if run.prompt else None
    each = 2 * used
    attention = _attention(run.model, prompt, batch) / (prompt * batch) if prompt else 0.0
    floor = (each + attention) / peak  # seconds for a token
    weights = run.model.resident
    bounds = [
        Bound(
            "compute",
            floor,
            "s",
            phrase(
                "{flops} a token ÷ {peak}: at most {rate}",
                flops=_added(each, attention),
                peak=_peaks(machine),
                rate=text.per_second(1 / floor),
            ),
        )
    ]
    if weights and prompt and machine.all_bandwidth:
        reading = weights / machine.all_bandwidth / (prompt * batch)
        arithmetic = phrase(
            "weights once for {tokens} tokens: {bytes} ÷ {bandwidth} = {time}",
            tokens=f"{prompt * batch:,}",
            bytes=text.size(weights),
            bandwidth=text.rate(machine.all_bandwidth),
            time=text.duration(reading * prompt * batch),
        )
        bounds.append(Bound("memory", reading, "s", arithmetic))
    bounds.sort(key=lambda bound: -bound.value)
    taken = None
    if run.seconds is not None and prompt:
        taken = positive("seconds", run.seconds) / (prompt * batch)
    elif run.tokens_per_second is not None:
        taken = 1 / positive("tokens_per_second", run.tokens_per_second)
    share = bounds[0].value / taken if taken else None
    wall = judged(bounds, share)
    missing = []
    if prompt is None:
        missing.append(phrase("--prompt: attention was left out, which grows with the prompt"))
    elif not attention:
        missing.append(
            phrase("--model, or --layers, --heads and --head-dim: attention was left out")
        )
    return Explanation(
        recognized=(
            *machine.lines,
            described(run.model),
            phrase(
                "prefill: {batch} prompt(s) of {prompt} tokens, {count} device(s)",
                batch=batch,
                prompt=f"{prompt:,}" if prompt else "?",
                count=machine.count,
            ),
        ),
        bounds=tuple(bounds),
        measured=_rate(taken),
        share=share,
        wall=wall,
        causes=causes("prefill", machine.kind, band(share)) if share else (),
        following=_following(band(share)),
        page="three-walls/memory.md#decode-prefill",
        notes=machine.warnings,
        missing=tuple(missing),
        sources=machine.sources,
    )


def training(run: Training, machine: Machine) -> Explanation:
    """Explain training: MFU, and the least time of communication where a network is given.

    Raises:
        ValueError: the peak or the model is not known, or a number is out of range.
    """
    used, peak = _needs(run.model, machine)
    model = run.model
    attention = 0.0
    if run.sequence and model.layers and model.heads and model.head_dim:
        # Forward and backward, causal: three times the half of 4 · L · h · d · s.
        attention = 6.0 * model.layers * model.heads * model.head_dim * (run.sequence + 1)
    each = workload.training_flops(used, 1) + attention
    floor = each / peak
    arithmetic = phrase(
        "6 × {used}{attention} = {flops} a token ÷ {peak}: at most {rate}",
        used=text.parameters(used),
        attention=f" + {text.prefixed(attention, 'FLOP')}" if attention else "",
        flops=text.prefixed(each, "FLOP"),
        peak=_peaks(machine),
        rate=text.per_second(1 / floor),
    )
    bounds, notes = [Bound("compute", floor, "s", arithmetic)], list(machine.warnings)
    if run.network is not None:
        bound, more = _communication(run, model)
        notes += more
        notes.append(
            phrase(
                "arithmetic at the peak takes as long from {tokens} tokens a step on, {each} a "
                "device: only above that can the communication hide behind it",
                tokens=text.significant(bound.value / floor),
                each=text.significant(bound.value / floor / machine.count),
            )
        )
        if run.tokens_per_step:
            bounds.append(bound._replace(value=bound.value / run.tokens_per_step))
        else:
            notes.append(bound.arithmetic)
    bounds.sort(key=lambda bound: -bound.value)
    taken = _a_token(run)
    share = bounds[0].value / taken if taken else None
    if taken:
        mfu = floor / taken
        notes.append(phrase("MFU, without recomputation: {share}", share=text.percent(mfu)))
    if taken and run.alone is not None:
        one, all_ = positive("alone", run.alone), 1 / taken
        notes.append(
            phrase(
                "efficiency of scaling: {all} ÷ ({count} × {one}) = {share}. With the same work "
                "on each device that is weak scaling; with one batch shared out, strong scaling",
                all=text.per_second(all_),
                count=machine.count,
                one=text.per_second(one),
                share=text.percent(all_ / one / machine.count),
            )
        )
    missing = []
    if not attention:
        missing.append(
            phrase(
                "--context with --model, or --layers, --heads and --head-dim: attention was left "
                "out"
            )
        )
    if run.network is not None and not run.tokens_per_step:
        missing.append(phrase("--tokens: tokens of a step on all devices, to judge the network"))
    return Explanation(
        recognized=(
            *machine.lines,
            described(model),
            phrase("training: {count} device(s)", count=machine.count),
        ),
        bounds=tuple(bounds),
        measured=_rate(taken),
        share=share,
        wall=judged(bounds, share),
        causes=causes("training", machine.kind, band(share)) if share else (),
        following=_following(band(share)),
        page="three-walls/compute.md#mfu"
        if bounds[0].wall == "compute"
        else "three-walls/communication.md#around-the-wall",
        notes=tuple(notes),
        missing=tuple(missing),
        sources=machine.sources,
    )


def _communication(run: Training, model: ModelRun) -> tuple[Bound, list[Text]]:
    """The least time that a step’s communication takes between nodes, and what one should know."""
    assert model.params
    assert run.network
    nodes = count("nodes", run.nodes, 2)
    width = model.width or 2.0
    weights = model.params * width
    gradients = (run.trained or model.params) * width
    share = (nodes - 1) / nodes
    micro = count("micro_batches", run.micro_batches)
    if run.stage == 3:
        volume = collectives.zero3_volume(weights, gradients, nodes, micro)
        what = phrase(
            "ZeRO-3: all weights ({weights}) forward and backward, and gradients ({gradients}), "
            "in each of {micro} micro-batches",
            weights=text.size(weights),
            micro=micro,
            gradients=text.size(gradients),
        )
    else:
        volume = 2 * share * gradients
        what = phrase(
            "gradients ({gradients}) all-reduced once a step", gradients=text.size(gradients)
        )
    seconds = volume / run.network
    arithmetic = phrase(
        "{volume} into and out of each of {nodes} nodes ÷ {network} = {time} a step at least",
        volume=text.size(volume),
        nodes=nodes,
        network=text.rate(run.network),
        time=text.duration(seconds),
    )
    notes = [
        what,
        phrase(
            "the volume hardly falls with more nodes: its factor is (N − 1)/N. A flat ring "
            "through all devices sends more than this; average NIC counters over a step hide it, "
            "for they count the pauses as well"
        ),
    ]
    return Bound("communication", seconds, "s", arithmetic), notes


def _a_token(run: Training) -> float | None:
    if run.tokens_per_second is not None:
        return 1 / positive("tokens_per_second", run.tokens_per_second)
    if run.seconds is not None and run.tokens_per_step:
        return positive("seconds", run.seconds) / positive("tokens", run.tokens_per_step)
    return None


def _attention(model: ModelRun, prompt: int, batch: int) -> float:
    if not (model.layers and model.heads and model.head_dim):
        return 0.0
    return workload.prefill_attention_flops(
        model.layers, model.heads, model.head_dim, prompt, batch
    )


def _needs(model: ModelRun, machine: Machine) -> tuple[float, float]:
    if not model.used:
        raise ValueError("no parameters: give --model or --params")
    if not machine.all_peak:
        raise ValueError("no peak: give --device or --peak")
    return model.used, machine.all_peak


def _added(flops: float, attention: float) -> str:
    both = f"({text.prefixed(flops, 'FLOP')} + {text.prefixed(attention, 'FLOP')})"
    return both if attention else text.prefixed(flops, "FLOP")


def _peaks(machine: Machine) -> str:
    one = text.prefixed(machine.peak or 0.0, "FLOP/s")
    return f"({machine.count} × {one})" if machine.count > 1 else one


def _rate(taken: float | None) -> Text | None:
    return phrase("{rate}", rate=text.per_second(1 / taken)) if taken else None


def _following(name: str) -> Text:
    if name == ABOVE:
        return phrase("Find out which line of the list is true before you use the number.")
    if name in {HEALTHY, NEAR}:
        return phrase("To go faster, use a lower type that the tensor units take, or do less work.")
    if name == "not-judged":
        return phrase("Measure and give --tokens-per-second or --time.")
    return phrase("Turn the first cause off and measure the same thing again.")
