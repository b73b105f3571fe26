"""What the tables hold: values with a unit, a kind and a source, and the things they describe.

Everything here is immutable. A value that the sources disagree on keeps its rivals in
`Value.alternatives`; a value nobody published is absent, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from wallsite._checks import BothDirections, did_you_mean, near_matches
from wallsite.tables.names import UnknownName
from wallsite.units import scale

Text = Mapping[str, str]
"""The same text in each language: ``{"zh": …, "en": …}``."""

NO_TEXT: Text = MappingProxyType({})


class Words(dict[str, str]):
    """A text by language; a language that has none of its own reads the English."""

    def __missing__(self, language: str) -> str:
        return self["en"]


KINDS = ("vendor", "paper", "third-party", "measured", "derived", "assumed", "rumour")
"""What sort of statement a value is."""

STATED_IN = {
    "vendor": ("datasheet", "whitepaper", "page", "press", "docs"),
    "paper": ("paper", "code", "docs"),  # authors also publish with their code
    "third-party": ("site", "code"),
    "measured": ("site", "code", "paper", "docs"),
    "rumour": ("site",),
}
"""Documents of which a sort of statement must cite at least one; the others may rest on any."""

DEVICE_KINDS = ("gpu", "cpu", "npu", "unified")
"""What sort of device it is; unified: CPU and GPU cores share one memory."""

ALIASES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32"}
ALIASES |= {"float64": "fp64", "float8": "fp8", "e4m3": "fp8", "nvfp4": "fp4", "mxfp4": "fp4"}
"""What else people call a type."""

_TWINS = {"fp16": "bf16", "bf16": "fp16"}  # one rate unless the hardware lacks one of them

PER = ("direction", "both", "undeclared")
"""What a link's bandwidth counts: one way, both added up, or its vendor does not say."""

DTYPES = ("fp64", "fp64_matrix", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
"""Every type `Accelerator.peak` knows. fp64_matrix is the tensor or matrix unit's rate."""


class Value(NamedTuple):
    """One number, and everything needed to judge it.

    Attributes:
        value: the number in `unit`.
        unit: a unit of `wallsite.units`.
        kind: one of `KINDS`.
        sources: ids of the documents that state it; empty only if assumed.
        date: when it was stated, if that is not the source's own date.
        per: ``"direction"`` or ``"both"`` for a link's bandwidth, ``"undeclared"`` for a quoted
            one whose direction its vendor does not state; otherwise None.
        note: a caveat, in both languages.
        label: what the number is, for a quantity or an energy.
        alternatives: values other sources give for the same thing.
        dense: False for a peak that counts operations skipped by structured sparsity.
        key: names it among all values: ``h100-sxm.bandwidth``; ``/1`` follows for its first rival.
    """

    value: float
    unit: str
    kind: str
    sources: tuple[str, ...] = ()
    date: str | None = None
    per: str | None = None
    note: Text = NO_TEXT
    label: Text = NO_TEXT
    alternatives: tuple[Value, ...] = ()
    dense: bool = True
    key: str = ""

    @property
    def si(self) -> float:
        """The number in SI base units: FLOP/s, byte/s, byte, J, W.

        A bandwidth that does not count one direction is a `BothDirections`, which no model of
        communication takes.
        """
        number = self.value * scale(self.unit)
        return number if self.per in {None, "direction"} else BothDirections(number)


class Definition(NamedTuple):
    """A quantity derived from others, defined once for every page and language.

    Attributes:
        id: what expressions call it.
        args: names of its arguments; none for a plain number.
        text: the expression, over the tables, the models, other quantities and its arguments.
        symbol: what formulas call it, such as ``T(N)``.
        note: a caveat, in both languages.
        file: where it stands, for messages.
    """

    id: str
    args: tuple[str, ...]
    text: str
    symbol: str
    note: Text
    file: str

    @property
    def call(self) -> str:
        """The definition's left side: ``step(N)``."""
        return f"{self.id}({', '.join(self.args)})" if self.args else self.id


class Source(NamedTuple):
    """A document a value was taken from.

    Attributes:
        date: its own date or version, or the day it was read.
        url: its address, where one was seen.
        kind: datasheet, whitepaper, page, press, docs, paper, code or site.
        seen: ``"read"``, ``"quoted"`` (read only where others quote it), ``"listed"`` or
            ``"recalled"`` (not opened: written from memory).
        supports: what it is cited for.
    """

    id: str
    publisher: str
    title: str
    date: str
    url: str | None
    kind: str
    seen: str
    supports: Text


class Link(NamedTuple):
    """A connection between devices, or between a device and its host.

    Attributes:
        tier: ``"host"``, ``"scale-up"`` (within the node or domain) or ``"scale-out"``.
        counted_per: whose bandwidth it is: GPU, NPU, chip, card, port, slot, adapter or node.
        bandwidth: byte/s that one direction carries.
        quoted: what its vendor prints, in the vendor's unit and direction.
        parts: how many of what is quoted (links, lanes, ports) make up `bandwidth`.
    """

    id: str
    name: str
    vendor: str
    tier: str
    counted_per: str
    year: int | None
    status: str
    aliases: tuple[str, ...]
    bandwidth: Value
    quoted: Value
    parts: int
    note: Text

    @property
    def both(self) -> Value:
        """Both directions added up: always twice `bandwidth`."""
        return _doubled(self.bandwidth)


class Accelerator(NamedTuple):
    """A GPU, NPU or CPU.

    Attributes:
        kind: one of `DEVICE_KINDS`.
        status: ``"shipping"``, ``"ended"`` (no longer sold), ``"preliminary"`` or ``"announced"``.
        memory: the type of its memory, such as HBM3e.
        models: a pattern of `names.loosely` that all models of a series match; "" where it is one.
        lacks: types its hardware does not have, as opposed to those nobody published.
        fields: every published value by name, peaks included. `clock` is the one behind the peaks,
            `cores` counts SMs, compute units or cores, `cache` is the last level before memory,
            `cpu_bandwidth` what the CPU cores alone reach where memory is shared;
            `channels` and `transfer_rate` are the memory channels of a CPU and the most transfers a
            second that each makes.
        link: what connects it to its peers, or to its host where it has nothing better.
        network: the scale-out link it usually ships with, one for each device.
    """

    id: str
    name: str
    vendor: str
    kind: str
    year: int
    status: str
    memory: str
    aliases: tuple[str, ...]
    models: str
    lacks: tuple[str, ...]
    fields: Mapping[str, Value]
    link: Link | None
    network: Link | None
    note: Text

    @property
    def bandwidth(self) -> Value | None:
        """Bandwidth of its memory."""
        return self.fields.get("bandwidth")

    @property
    def capacity(self) -> Value | None:
        """Size of its memory."""
        return self.fields.get("capacity")

    @property
    def power(self) -> Value | None:
        """Design power."""
        return self.fields.get("power")

    @property
    def sixteen_bit(self) -> str | None:
        """The 16-bit type that `peak` answers for: fp16, or bf16 where there is no fp16."""
        return next((dtype for dtype in ("fp16", "bf16") if self._peak(dtype)), None)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The types `peak` answers for."""
        return tuple(dtype for dtype in DTYPES if self._peak(dtype))

    def peak(self, dtype: str) -> Value:
        """Peak rate for a type: dense, tensor or matrix unit where it has one.

        fp16 and bf16 accumulate in fp32 and run at the same rate, so the value of either answers
        for both unless the device lacks one of them. Figures that count sparsity are never
        returned.

        Raises:
            UnknownName: no such type, or no such figure for this device.
        """
        name = str(dtype).strip().casefold()
        name = ALIASES.get(name, name)
        value = self._peak(name)
        if value:
            return value
        has = f"{self.name} has {', '.join(self.dtypes) or 'no published peak'}"
        if name in self.lacks:
            raise UnknownName(f"{self.name} does not support {name}; {has}")
        if name in DTYPES:
            raise UnknownName(f"no {name} peak is known for {self.name}; {has}")
        hint = did_you_mean(near_matches(name, DTYPES)) or ";"
        raise UnknownName(f"unknown dtype {dtype!r}{hint} {has}")

    def _peak(self, dtype: str) -> Value | None:
        if dtype in self.lacks or dtype not in DTYPES:
            return None
        return self.fields.get(dtype) or self.fields.get(_TWINS.get(dtype, dtype))


class Cluster(NamedTuple):
    """How devices are joined: scale-up domains, and the network between them.

    Attributes:
        device: what the domains are made of.
        link: joins the devices of a domain; what one device has of it counts.
        network: one port of the network between domains.
        fields: every known value by name: domain, nics, pod, oversubscription.
    """

    id: str
    name: str
    vendor: str
    year: int
    aliases: tuple[str, ...]
    device: Accelerator
    link: Link
    network: Link
    fields: Mapping[str, Value]
    note: Text

    @property
    def domain(self) -> Value:
        """Devices in a scale-up domain."""
        return self.fields["domain"]

    @property
    def nics(self) -> Value:
        """Ports to the network that a domain has."""
        return self.fields["nics"]

    @property
    def pod(self) -> Value | None:
        """Devices that a network without oversubscription joins; None if it is all of them."""
        return self.fields.get("pod")

    @property
    def oversubscription(self) -> Value | None:
        """What a pod can send ÷ what the network beyond it carries; None if that is 1."""
        return self.fields.get("oversubscription")


class Model(NamedTuple):
    """A language model.

    Attributes:
        fields: every known value by name: params, active_params (an MoE's only), tokens, layers,
            hidden, heads, kv_heads, head_dim. Of an MoE, `experts` counts those of a layer that
            tokens are routed to, `chosen` how many a token uses; `latent` and `rope` are the widths
            that latent attention caches. A model whose cache is not made of heads has no kv_heads.
    """

    id: str
    name: str
    vendor: str
    year: int
    aliases: tuple[str, ...]
    fields: Mapping[str, Value]
    note: Text

    @property
    def params(self) -> Value:
        """All parameters."""
        return self.fields["params"]

    @property
    def active_params(self) -> Value:
        """Parameters that one token passes through: all of them unless it is an MoE."""
        return self.fields.get("active_params", self.params)

    @property
    def tokens(self) -> Value | None:
        """Tokens it was trained on."""
        return self.fields.get("tokens")

    @property
    def layers(self) -> Value | None:
        """Transformer layers."""
        return self.fields.get("layers")

    @property
    def hidden(self) -> Value | None:
        """Width of the residual stream."""
        return self.fields.get("hidden")

    @property
    def heads(self) -> Value | None:
        """Query heads in a layer."""
        return self.fields.get("heads")

    @property
    def kv_heads(self) -> Value | None:
        """Key and value heads in a layer."""
        return self.fields.get("kv_heads")

    @property
    def head_dim(self) -> Value | None:
        """Width of a head."""
        return self.fields.get("head_dim")


class Term(NamedTuple):
    """A word of the glossary in both languages, with one line on what it means."""

    id: str
    zh: str
    en: str
    note: Text


def _doubled(value: Value) -> Value:
    twice = 2 * value.value
    return value._replace(
        value=int(twice) if twice == int(twice) else twice,  # 2 × 31.5 reads 63
        kind="derived",
        per="both",
        key=f"{value.key}.both",
        alternatives=tuple(_doubled(other) for other in value.alternatives),
    )
