"""Read the data files and build the objects of `wallsite.tables.schema`.

A data file is TOML: one table per thing, one inline table per value::

    [h100-sxm]
    name      = "H100 SXM5"
    bandwidth = { value = 3.35, unit = "TB/s", kind = "vendor", source = "nvidia-h100-datasheet" }

Whatever is wrong in one is reported by file, entry and field. The ``read_…`` functions take text,
so that the tests can hand them broken files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from wallsite.tables.entry import DataError, Entry, hint
from wallsite.tables.names import spelling
from wallsite.tables.schema import (
    DEVICE_KINDS,
    DTYPES,
    Accelerator,
    Cluster,
    Definition,
    Link,
    Model,
    Source,
    Term,
    Value,
)

T = TypeVar("T")
Named = TypeVar("Named", Accelerator, Cluster, Link, Model, Term)

TIERS = ("host", "scale-up", "scale-out")
STATUSES = ("shipping", "ended", "preliminary", "announced", "roadmap")
COUNTED_PER = ("GPU", "NPU", "chip", "card", "slot", "port", "adapter", "node")
SOURCE_KINDS = ("datasheet", "whitepaper", "page", "press", "docs", "paper", "code", "site")
SEEN = ("read", "quoted", "listed", "recalled")

SPARSE = tuple(f"{dtype}_sparse" for dtype in DTYPES)
# Whole numbers of a model.
_OF_HEADS = ("layers", "hidden", "heads", "kv_heads", "head_dim")
SHAPE = (*_OF_HEADS, "latent", "rope", "experts", "chosen")
# An id is also an anchor on a page, and typed by hand in expressions.
_ID = re.compile(r"[a-z0-9]+(?:[-.][a-z0-9]+)*"), "an id is lower case, such as h100-sxm"
# A quantity is a name of Python's, since expressions use it as it stands.
_QUANTITY = (
    re.compile(r"(?:[a-z]\w*\.)?[A-Za-z]\w*", re.ASCII),
    "a quantity is named as in Python, such as q3.alpha or step_time",
)


def text(file: str) -> str:
    """Text of one data file."""
    from importlib.resources import files  # noqa: PLC0415 (importing wallsite.tables reads nothing)

    return decoded(files("wallsite.tables").joinpath("data", file).read_bytes(), file)


def decoded(data: bytes, file: str) -> str:
    """Read the bytes of a data file as text.

    Raises:
        DataError: they are not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(f"{file}: line {line} is not UTF-8") from None


def read_sources(text: str, file: str) -> dict[str, Source]:
    """Read ``sources.toml``."""

    def build(entry: Entry) -> Source:
        return Source(
            id=entry.name,
            publisher=entry.text("publisher"),
            title=entry.text("title"),
            date=entry.text("date"),
            url=entry.optional_address("url"),
            kind=entry.text("kind", SOURCE_KINDS),
            seen=entry.text("seen", SEEN),
            supports=entry.both("supports"),
        )

    return _read(text, file, {}, build)


def read_links(text: str, file: str, sources: Mapping[str, Source]) -> dict[str, Link]:
    """Read ``links.toml``."""

    def build(entry: Entry) -> Link:
        return Link(
            id=entry.name,
            name=entry.text("name"),
            vendor=entry.text("vendor"),
            tier=entry.text("tier", TIERS),
            counted_per=entry.text("counted_per", COUNTED_PER),
            year=entry.optional_integer("year"),
            status=entry.text("status", STATUSES),
            aliases=entry.strings("aliases"),
            bandwidth=entry.value("bandwidth", "byte/s", ("direction",)),
            # Any dimension: PCIe is quoted in transfers.
            quoted=entry.value("quoted", "", ("direction", "both", "undeclared")),
            parts=entry.optional_integer("parts") or 1,
            note=entry.optional_both("note"),
        )

    return _distinct(_read(text, file, sources, build), file, "aliases", _names)


def read_accelerators(
    text: str, file: str, sources: Mapping[str, Source], links: Mapping[str, Link]
) -> dict[str, Accelerator]:
    """Read ``accelerators.toml``."""

    def build(entry: Entry) -> Accelerator:
        values = {
            "capacity": entry.optional_value("capacity", "byte"),
            "bandwidth": entry.optional_value("bandwidth", "byte/s"),
            **{dtype: entry.optional_value(dtype, "FLOP/s") for dtype in DTYPES},
            **{dtype: entry.optional_value(dtype, "FLOP/s", dense=False) for dtype in SPARSE},
            "power": entry.optional_value("power", "W"),
            "cache": entry.optional_value("cache", "byte"),
            "clock": entry.optional_value("clock", "1/s"),
            "cpu_bandwidth": entry.optional_value("cpu_bandwidth", "byte/s"),
            "cores": entry.optional_value("cores", "1"),
            "channels": entry.optional_value("channels", "1"),
            "transfer_rate": entry.optional_value("transfer_rate", "transfer/s"),
        }
        lacks = entry.strings("lacks", DTYPES)
        for dtype in lacks:
            if values.get(dtype):
                entry.fail("lacks", f"{dtype!r} has a value of its own")
        if values["bf16"] and values["fp16"]:
            entry.fail("bf16", "and fp16 run at one rate: keep the value under fp16")
        if values["bf16"] and "fp16" not in lacks:
            entry.fail("bf16", "stands alone only where the device lacks fp16")
        link, network = entry.link("link", links), entry.link("network", links)
        if link and link.tier == "scale-out":
            entry.fail("link", f"{link.id!r} is scale-out: that is the network")
        if network and network.tier != "scale-out":
            entry.fail("network", f"{network.id!r} is {network.tier}, not scale-out")
        return Accelerator(
            id=entry.name,
            name=entry.text("name"),
            vendor=entry.text("vendor"),
            kind=entry.text("kind", DEVICE_KINDS),
            year=entry.integer("year"),
            status=entry.text("status", STATUSES),
            memory=entry.text("memory"),
            aliases=entry.strings("aliases"),
            models=entry.optional_text("models") or "",
            lacks=lacks,
            fields=_present(values),
            link=link,
            network=network,
            note=entry.optional_both("note"),
        )

    return _distinct(_read(text, file, sources, build), file, "aliases", _names)


def read_clusters(
    text: str,
    file: str,
    sources: Mapping[str, Source],
    links: Mapping[str, Link],
    devices: Mapping[str, Accelerator],
) -> dict[str, Cluster]:
    """Read ``clusters.toml``."""

    def build(entry: Entry) -> Cluster:
        name = entry.text("device")
        if name not in devices:
            entry.fail("device", f"unknown device {name!r}{hint(name, devices)}")
        device = devices[name]
        link = entry.link("link", links) or device.link
        network = entry.link("network", links) or device.network
        if link is None or link.tier != "scale-up":
            entry.fail("link", "must be scale-up")
        if network is None or network.tier != "scale-out":
            entry.fail("network", "must be scale-out")
        values = {
            "domain": entry.value("domain", "1"),
            "nics": entry.value("nics", "1"),
            "pod": entry.optional_value("pod", "1"),
            "oversubscription": entry.optional_value("oversubscription", "1"),
        }
        _whole(entry, values, ("domain", "nics", "pod"))
        if bool(values["pod"]) != bool(values["oversubscription"]):
            entry.fail("pod", "and oversubscription say something only together")
        return Cluster(
            id=entry.name,
            name=entry.text("name"),
            vendor=entry.text("vendor"),
            year=entry.integer("year"),
            aliases=entry.strings("aliases"),
            device=device,
            link=link,
            network=network,
            fields=_present(values),
            note=entry.optional_both("note"),
        )

    return _distinct(_read(text, file, sources, build), file, "aliases", _names)


def read_models(text: str, file: str, sources: Mapping[str, Source]) -> dict[str, Model]:
    """Read ``models.toml``."""

    def build(entry: Entry) -> Model:
        parts = ("active_params", "tokens", *SHAPE)
        values = {
            "params": entry.value("params", "1"),
            **{part: entry.optional_value(part, "1") for part in parts},
        }
        _whole(entry, values, SHAPE)
        return Model(
            id=entry.name,
            name=entry.text("name"),
            vendor=entry.text("vendor"),
            year=entry.integer("year"),
            aliases=entry.strings("aliases"),
            fields=_present(values),
            note=entry.optional_both("note"),
        )

    return _distinct(_read(text, file, sources, build), file, "aliases", _names)


def read_energies(text: str, file: str, sources: Mapping[str, Source]) -> dict[str, Value]:
    """Read ``energy.toml``: each entry is a labelled value."""
    return _read(text, file, sources, lambda entry: _labelled(entry, "J"))


def read_quantities(
    texts: Mapping[str, str], sources: Mapping[str, Source]
) -> dict[str, Value | Definition]:
    """Read every file of quantities; an id may stand in one of them only.

    An entry with ``is`` is derived from others; any other is assumed or quoted.
    """
    quantities: dict[str, Value | Definition] = {}
    home: dict[str, str] = {}
    for file, text in texts.items():
        for name, value in _read(text, file, sources, _quantity, _QUANTITY).items():
            if name in home:
                raise DataError(f"{file}: [{name}]: stands in {home[name]} already")
            home[name] = file
            quantities[name] = value
    return quantities


def read_terms(text: str, file: str) -> dict[str, Term]:
    """Read ``glossary.toml``."""

    def build(entry: Entry) -> Term:
        return Term(
            id=entry.name, zh=entry.text("zh"), en=entry.text("en"), note=entry.both("note")
        )

    terms = _distinct(_read(text, file, {}, build), file, "zh", lambda term: [term.zh])
    return _distinct(terms, file, "en", lambda term: [term.en.casefold()])


def spellings(things: Mapping[str, Accelerator | Cluster | Link | Model]) -> dict[str, str]:
    """Every accepted name as `spelling` reduces it, and the id it stands for."""
    return {name: thing.id for thing in things.values() for name in _names(thing)}


def _read(
    text: str,
    file: str,
    sources: Mapping[str, Source],
    build: Callable[[Entry], T],
    form: tuple[re.Pattern[str], str] = _ID,
) -> dict[str, T]:
    things = {}
    for name, fields in parsed(text, file).items():
        if not form[0].fullmatch(name):
            raise DataError(f"{file}: [{name!r}]: {form[1]}")
        entry = Entry(file, name, fields, sources)
        things[name] = build(entry)
        entry.close()
    return things


def parsed(text: str, file: str) -> dict[str, Any]:
    """Read TOML.

    Raises:
        DataError: it is not TOML.
    """
    import tomllib  # noqa: PLC0415 (importing wallsite.tables reads nothing)

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{file}: {error}") from None


def _quantity(entry: Entry) -> Value | Definition:
    if "is" not in entry.left:
        return _labelled(entry)
    args = entry.strings("args")
    for argument in args:
        if not argument.isidentifier() or args.count(argument) > 1:
            entry.fail("args", f"{argument!r} is no name of its own")
    return Definition(
        id=entry.name,
        args=args,
        text=entry.text("is"),
        symbol=entry.optional_text("symbol") or "",
        note=entry.optional_both("note"),
        file=entry.file,
    )


def _labelled(entry: Entry, dimension: str = "") -> Value:
    value = entry.as_value(dimension)
    if not value.label:
        entry.fail("label", "is missing")
    return value


def _whole(entry: Entry, values: Mapping[str, Value | None], parts: Iterable[str]) -> None:
    for part in parts:
        value = values[part]
        if value and value.si % 1:
            entry.fail(part, f"must be a whole number, found {value.value}")


def _present(values: Mapping[str, Value | None]) -> Mapping[str, Value]:
    return MappingProxyType({name: value for name, value in values.items() if value})


def _names(thing: Accelerator | Cluster | Link | Model) -> list[str]:
    return [spelling(name) for name in (thing.id, thing.name, *thing.aliases)]


def joined(things: Mapping[str, Named], others: Mapping[str, Named], file: str) -> dict[str, Named]:
    """Join two files of devices or models.

    Raises:
        DataError: a name stands for a thing of each.
    """
    if twice := things.keys() & others.keys():
        raise DataError(f"{file}: [{min(twice)}] stands in two files")
    return _distinct({**things, **others}, file, "aliases", _names)  # type: ignore[arg-type]


def _distinct(
    things: dict[str, Named], file: str, field: str, names: Callable[[Named], Iterable[str]]
) -> dict[str, Named]:
    """Reject a name that stands for two things."""
    owner: dict[str, str] = {}
    for thing in things.values():
        for name in names(thing):
            if owner.setdefault(name, thing.id) != thing.id:
                problem = f"{name!r} already names {owner[name]}"
                raise DataError(f"{file}: [{thing.id}] {field}: {problem}")
    return things
