"""The model that was run: parameters, bits, cache and experts, from the catalog or by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wallsite import tables, workload
from wallsite._checks import count, parameters, positive
from wallsite.explain import text
from wallsite.explain.text import phrase
from wallsite.tables.schema import Text


@dataclass(frozen=True)
class ModelRun:
    """A model as it is stored and read.

    Attributes:
        name: for people.
        params: all its parameters; None if only the size of its file is known.
        active: parameters that one token uses; None: all.
        bits: of a stored weight, fractions allowed; None if not known.
        stored: bytes of all weights, if given as such.
        kv_per_token: bytes of cache for a token; None if not known.
        layers: of the model, if known.
        hidden: width of the model, if known.
        heads: query heads, if known.
        head_dim: their size, if known.
        experts: routed experts in a layer, and how many of them a token uses.
        window: tokens that windowed layers keep; 0 without.
        windowed: share of the layers that have the window.
    """

    name: str = ""
    params: float | None = None
    active: float | None = None
    bits: float | None = None
    stored: float | None = None
    kv_per_token: float | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    head_dim: int | None = None
    experts: tuple[int, int] | None = None
    window: int = 0
    windowed: float = 1.0

    @property
    def used(self) -> float | None:
        """Parameters that one token uses."""
        return self.active or self.params

    @property
    def resident(self) -> float | None:
        """Bytes of all weights, which must fit somewhere."""
        if self.stored is not None:
            return self.stored
        return self.params * self.bits / 8 if self.params and self.bits else None

    @property
    def width(self) -> float | None:
        """Bytes of a weight."""
        if self.bits:
            return self.bits / 8
        return self.stored / self.params if self.stored and self.params else None

    def read(self, batch: int) -> float | None:
        """Bytes of weights that one decode step of `batch` sequences reads."""
        if self.active is None or self.params is None:
            return self.resident
        if self.width is None:
            return None
        return self.touched(batch) * self.width

    def touched(self, batch: int) -> float:
        """Parameters that one step reads: with a batch, more experts than one token uses."""
        assert self.params
        assert self.active
        if self.experts is None or batch == 1:
            return self.active
        total, chosen = self.experts
        routed = (self.params - self.active) / (1 - chosen / total)
        shared = self.params - routed
        return workload.moe_params_touched(max(shared, 0.0), routed, total, chosen, batch)

    def cache(self, context: int) -> float:
        """Bytes of one sequence's cache; 0 if nothing is known of it."""
        return workload.kv_cache_bytes(
            self.kv_per_token or 0.0, context, window=self.window, windowed=self.windowed
        )


def model_run(
    model: str | None = None,
    *,
    params: float | None = None,
    active: float | None = None,
    bits: float | None = None,
    stored: float | None = None,
    kv_per_token: float | None = None,
    kv_bits: float = 16.0,
    layers: int | None = None,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    experts: tuple[int, int] | None = None,
    window: int = 0,
    windowed: float = 1.0,
) -> ModelRun:
    """Describe a model; what is given by hand goes before what the catalog says.

    Raises:
        UnknownName: no such model.
        ValueError: a number is out of range, or more parameters are active than there are.
    """
    run = _from_catalog(model, kv_bits) if model else ModelRun()
    checks: Mapping[str, tuple[Callable[[str, Any], Any], Any]] = {
        "params": (parameters, params),
        "active": (parameters, active),
        "bits": (positive, bits),
        "stored": (positive, stored),
        "layers": (count, layers),
        "head_dim": (count, head_dim),
    }
    given = {
        name: check(name, value) for name, (check, value) in checks.items() if value is not None
    }
    run = replace(run, window=window, windowed=windowed, experts=experts or run.experts, **given)
    if run.active and run.params and run.active > run.params:
        raise ValueError(f"active must be at most params ({run.params:g}), got {run.active:g}")
    if run.active and not run.params:
        raise ValueError("active needs params: all parameters of the model")
    if experts and (experts[1] > experts[0] or min(experts) < 1):
        raise ValueError(
            f"experts must be written all/used, such as 256/8, got {experts[0]}/{experts[1]}"
        )
    if kv_per_token is None and layers and kv_heads and head_dim:
        kv_per_token = workload.kv_bytes_per_token(layers, kv_heads, head_dim, kv_bits / 8)
    return (
        replace(run, kv_per_token=positive("kv_per_token", kv_per_token)) if kv_per_token else run
    )


def _from_catalog(name: str, kv_bits: float) -> ModelRun:
    found = tables.model(name)

    def whole(field: str) -> int | None:
        value = found.fields.get(field)
        return int(value.si) if value else None

    layers, kv_heads, head_dim = whole("layers"), whole("kv_heads"), whole("head_dim")
    latent, rope = whole("latent"), whole("rope")
    cache = None
    if layers and latent and rope:
        cache = workload.mla_bytes_per_token(layers, latent, rope, kv_bits / 8)
    elif layers and kv_heads and head_dim:
        cache = workload.kv_bytes_per_token(layers, kv_heads, head_dim, kv_bits / 8)
    experts, chosen = whole("experts"), whole("chosen")
    active = found.fields.get("active_params")
    return ModelRun(
        name=found.name,
        params=found.params.si,
        active=active.si if active else None,
        kv_per_token=cache,
        layers=layers,
        hidden=whole("hidden"),
        heads=whole("heads"),
        head_dim=head_dim,
        experts=(experts, chosen) if experts and chosen else None,
    )


def described(run: ModelRun) -> Text:
    """Say what the model is, in a line."""
    parts: list[Text] = []
    if run.params:
        parts.append(phrase("{count} parameters", count=text.parameters(run.params)))
    if run.active:
        parts.append(phrase("{count} active", count=text.parameters(run.active)))
    if run.bits:
        parts.append(phrase("{bits} bits", bits=f"{run.bits:g}"))
    if run.resident:
        size, binary = text.size(run.resident), text.binary(run.resident)
        parts.append(phrase("{size} ({binary})", size=size, binary=binary))
    if not run.name:
        return phrase("model: {parts}", parts=text.listed(parts))
    return phrase("model {name}: {parts}", name=run.name, parts=text.listed(parts))
