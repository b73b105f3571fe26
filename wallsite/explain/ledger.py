"""What must fit into memory, in GiB, and what is left of it for context."""

from __future__ import annotations

from typing import NamedTuple

from wallsite.explain import text
from wallsite.explain.machine import Machine
from wallsite.explain.model import ModelRun
from wallsite.explain.text import phrase
from wallsite.tables.schema import Text


class Ledger(NamedTuple):
    """Whether a model fits, by how much it does not, and the books for people."""

    fits: bool
    over: float | None
    lines: tuple[Text, ...]


def ledger(
    machine: Machine, model: ModelRun, batch: int, context: int, reserved: float = 0.0
) -> Ledger:
    """Add up weights, cache and what is reserved, against the memory of all devices.

    Args:
        machine: with the capacity of one device.
        model: what is stored.
        batch: sequences.
        context: tokens in the cache of each.
        reserved: bytes on each device for activations, graphs and fragmentation.
    """
    weights, cache = model.resident or 0.0, model.cache(context) * batch
    if machine.capacity is None:
        return Ledger(True, None, ())
    room = machine.capacity * machine.count
    needed = weights + cache + reserved * machine.count
    line = phrase(
        "memory: weights {weights} + cache {cache} + reserved {reserved} = {needed} of {room}",
        weights=text.binary(weights),
        cache=text.binary(cache) if cache else "0",
        reserved=text.binary(reserved * machine.count) if reserved else "0",
        needed=text.binary(needed),
        room=text.binary(room),
    )
    if needed > room:
        return Ledger(False, needed - room, (line, phrase("it does not fit")))
    lines = [line]
    if model.kv_per_token:
        tokens = int((room - weights - reserved * machine.count) / model.kv_per_token)
        lines.append(
            phrase(
                "room for {tokens} tokens of cache in all sequences together, at {each} a token; "
                "activations and graphs come off that",
                tokens=f"{tokens:,}",
                each=text.binary(model.kv_per_token),
            )
        )
    return Ledger(True, None, tuple(lines))
