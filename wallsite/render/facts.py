"""Every value of the tables together with what it is a value of.

A value alone does not know that it is the memory bandwidth of the H100. A fact does, and its key,
``h100-sxm.bandwidth``, names it wherever something rests on it: in a page, in a download.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from wallsite import lessons, tables
from wallsite.locale import Phrase
from wallsite.tables.schema import NO_TEXT, Accelerator, Cluster, Link, Model, Text, Value, Words

PEAKS = {
    "fp64": "FP64",
    "fp64_matrix": "FP64 MMA",
    "fp32": "FP32",
    "tf32": "TF32",
    "fp16": "FP16 / BF16",
    "bf16": "BF16",
    "fp8": "FP8",
    "int8": "INT8",
    "fp4": "FP4",
}
"""Every peak that a device may have, and how people write its data type."""


def _dense(name: str) -> Text:
    return Phrase("dense {name} peak", name=name)


_OF_A_DEVICE = {
    "capacity": Phrase("memory capacity"),
    "bandwidth": Phrase("memory bandwidth"),
    **{dtype: _dense(name) for dtype, name in PEAKS.items()},
    **{
        f"{dtype}_sparse": Phrase("{name} figure with sparsity", name=name)
        for dtype, name in PEAKS.items()
    },
    "power": Phrase("power"),
    "cache": Phrase("last-level cache"),
    "cpu_bandwidth": Phrase("memory bandwidth of the CPU cores alone"),
    "cores": Phrase("cores"),
    "clock": Phrase("clock behind the peaks"),
    "channels": Phrase("memory channels"),
    "transfer_rate": Phrase("fastest memory"),
}
_OF_A_LINK = {
    "bandwidth": Phrase("bandwidth"),
    "quoted": Phrase("as its vendor prints it"),
}
_OF_A_CLUSTER = {
    "domain": Phrase("devices in a domain"),
    "nics": Phrase("NICs of a domain"),
    "pod": Phrase("devices in a pod"),
    "oversubscription": Phrase("oversubscription between pods"),
}
_OF_A_MODEL = {
    "params": Phrase("parameters"),
    "active_params": Phrase("active parameters"),
    "tokens": Phrase("training tokens"),
    "layers": Phrase("layers"),
    "hidden": Phrase("width"),
    "heads": Phrase("heads"),
    "kv_heads": Phrase("KV heads"),
    "head_dim": Phrase("head size"),
    "latent": Phrase("width of the cached vector"),
    "rope": Phrase("width of the cached key for positions"),
    "experts": Phrase("routed experts in a layer"),
    "chosen": Phrase("experts that a token uses"),
}


class Fact(NamedTuple):
    """A value, and what it is a value of.

    Attributes:
        table: accelerators, links, clusters, models, energy or quantities.
        id: of the device, link, cluster, model, operation or quantity, in that table.
        field: which of its values.
        name: what the id stands for.
        what: what the field says of it; empty where the name says all.
        value: the value, with its rivals.
    """

    table: str
    id: str
    field: str
    name: Text
    what: Text
    value: Value

    @property
    def key(self) -> str:
        """A name for the fact that no other has."""
        return self.value.key

    def label(self, language: str) -> str:
        """Say in words what it is a value of."""
        return f"{self.name[language]} {self.what[language] if self.what else ''}".rstrip()


class Statement(NamedTuple):
    """One of the values that sources state for a fact.

    Attributes:
        fact: the fact.
        alt: 0 for the default, 1 for its first rival, and so on.
    """

    fact: Fact
    alt: int = 0

    @property
    def key(self) -> str:
        """A name for the statement that no other has."""
        return self.value.key

    @property
    def value(self) -> Value:
        """What is stated."""
        return (self.fact.value, *self.fact.value.alternatives)[self.alt]

    @property
    def rivals(self) -> tuple[Value, ...]:
        """What other sources state instead."""
        return tuple(each.value for each in statements(self.fact) if each.alt != self.alt)


def statements(fact: Fact) -> Iterator[Statement]:
    """List what sources state for a fact, the default first."""
    return (Statement(fact, alt) for alt in range(1 + len(fact.value.alternatives)))


@cache
def facts() -> Mapping[str, Fact]:
    """All facts by key, table after table, in the order of the files."""
    return MappingProxyType({fact.key: fact for fact in _all()})


def of(value: Value) -> Fact:
    """Tell which fact a value of the tables, or a rival of one, is."""
    return facts()[value.key.partition("/")[0]]


def resting_on(source: str) -> list[Statement]:
    """List every statement that cites a source."""
    return _by_source().get(source, [])


@cache
def _by_source() -> Mapping[str, list[Statement]]:
    cited: dict[str, list[Statement]] = {}
    for each in (each for fact in facts().values() for each in statements(fact)):
        for source in each.value.sources:
            cited.setdefault(source, []).append(each)
    return MappingProxyType(cited)


def _all() -> Iterator[Fact]:
    for device in tables.catalog().values():
        alone = {"fp16": _dense("FP16")} if "bf16" in device.lacks else {}
        table = "accelerators" if device.id in tables.accelerators() else "catalog"
        yield from _fields(table, device, device.fields, _OF_A_DEVICE | alone)
    for link in tables.links().values():
        values = {"bandwidth": link.bandwidth, "quoted": link.quoted}
        yield from _fields("links", link, values, _OF_A_LINK)
    for cluster in tables.clusters().values():
        yield from _fields("clusters", cluster, cluster.fields, _OF_A_CLUSTER)
    for model in tables.all_models().values():
        table = "models" if model.id in tables.models() else "more-models"
        yield from _fields(table, model, model.fields, _OF_A_MODEL)
    for name, value in tables.energies().items():
        yield Fact("energy", name, "energy", value.label, NO_TEXT, value)
    for name, value in lessons.quantities().items():
        yield Fact("quantities", name, "value", value.label, NO_TEXT, value)


def _fields(
    table: str,
    thing: Accelerator | Cluster | Link | Model,
    values: Mapping[str, Value],
    words: Mapping[str, Text],
) -> Iterator[Fact]:
    name = Words({"en": thing.name})
    for field, value in values.items():
        yield Fact(table, thing.id, field, name, words[field], value)
