"""Hardware, links, models and energies, each number with its unit, kind and source.

Nothing is read on import. The first lookup reads the file it needs, and keeps it::

    from wallsite import tables

    h100 = tables.accelerator("H100 SXM")
    h100.peak("bf16").si          # 9.894e14 FLOP/s, dense
    h100.bandwidth.sources        # ids for tables.source
    tables.link("nvlink4").bandwidth   # per direction; .both is twice that
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from wallsite.tables import load
from wallsite.tables.entry import DataError
from wallsite.tables.names import UnknownName, find, loosely, spelling
from wallsite.tables.schema import (
    Accelerator,
    Cluster,
    Definition,
    Link,
    Model,
    Source,
    Term,
    Value,
)

__all__ = [
    "Accelerator",
    "Cluster",
    "DataError",
    "Definition",
    "Link",
    "Model",
    "Source",
    "Term",
    "UnknownName",
    "Value",
    "accelerator",
    "accelerators",
    "all_models",
    "catalog",
    "cluster",
    "clusters",
    "energies",
    "energy",
    "glossary",
    "link",
    "links",
    "model",
    "models",
    "source",
    "sources",
]


def accelerator(name: str) -> Accelerator:
    """Look up a device by id, name or alias; a processor also by its model, for its series.

    Raises:
        UnknownName: no such device; the message lists near matches.
    """
    # Most ask for one of the lesson's; the wide catalog takes a while to read.
    if near := _lesson_spellings().get(spelling(name)):
        return accelerators()[near]
    try:
        return find("device", name, catalog(), _device_spellings())
    except UnknownName:
        for device in catalog().values():
            if device.models and re.fullmatch(device.models, loosely(name)):
                return device
        raise


def link(name: str) -> Link:
    """Look up a link by id, name or alias.

    Raises:
        UnknownName: no such link; the message lists near matches.
    """
    return find("link", name, links(), _link_spellings())


def cluster(name: str) -> Cluster:
    """Look up how devices are joined, by id, name or alias.

    Raises:
        UnknownName: no such cluster; the message lists near matches.
    """
    return find("cluster", name, clusters(), _cluster_spellings())


def model(name: str) -> Model:
    """Look up a model by id, name or alias.

    Raises:
        UnknownName: no such model; the message lists near matches.
    """
    return find("model", name, all_models(), _model_spellings())


def energy(name: str) -> Value:
    """Look up the energy of one operation or memory access.

    Raises:
        UnknownName: no such energy; the message lists near matches.
    """
    return find("energy", name, energies(), {key.casefold(): key for key in energies()})


def source(name: str) -> Source:
    """Look up a document by its id.

    Raises:
        UnknownName: no such source; the message lists near matches.
    """
    return find("source", name, sources(), {key.casefold(): key for key in sources()})


@cache
def accelerators() -> Mapping[str, Accelerator]:
    """The lesson's devices by id, in the order of the file: by vendor, then by generation."""
    file = "accelerators.toml"
    return MappingProxyType(load.read_accelerators(load.text(file), file, sources(), links()))


@cache
def catalog() -> Mapping[str, Accelerator]:
    """All devices by id: those of the lesson, then all others that people ask about.

    Raises:
        DataError: a name stands for two devices.
    """
    file = "catalog.toml"
    others = load.read_accelerators(load.text(file), file, sources(), links())
    return MappingProxyType(load.joined(accelerators(), others, file))


@cache
def links() -> Mapping[str, Link]:
    """All links by id."""
    file = "links.toml"
    return MappingProxyType(load.read_links(load.text(file), file, sources()))


@cache
def clusters() -> Mapping[str, Cluster]:
    """All clusters by id."""
    file = "clusters.toml"
    read = load.read_clusters(load.text(file), file, sources(), links(), accelerators())
    return MappingProxyType(read)


@cache
def models() -> Mapping[str, Model]:
    """All models by id, oldest first."""
    file = "models.toml"
    return MappingProxyType(load.read_models(load.text(file), file, sources()))


@cache
def all_models() -> Mapping[str, Model]:
    """All models by id: those of the lesson, then others that people run.

    Raises:
        DataError: a name stands for two models.
    """
    file = "more_models.toml"
    others = load.read_models(load.text(file), file, sources())
    return MappingProxyType(load.joined(models(), others, file))


@cache
def energies() -> Mapping[str, Value]:
    """Energy of one operation or one 64-bit access, by id."""
    file = "energy.toml"
    return MappingProxyType(load.read_energies(load.text(file), file, sources()))


@cache
def sources() -> Mapping[str, Source]:
    """All documents by id."""
    file = "sources.toml"
    return MappingProxyType(load.read_sources(load.text(file), file))


@cache
def glossary() -> tuple[Term, ...]:
    """The glossary's terms, in the order of the file."""
    file = "glossary.toml"
    return tuple(load.read_terms(load.text(file), file).values())


@cache
def _lesson_spellings() -> Mapping[str, str]:
    return load.spellings(accelerators())


@cache
def _device_spellings() -> Mapping[str, str]:
    return load.spellings(catalog())


@cache
def _link_spellings() -> Mapping[str, str]:
    return load.spellings(links())


@cache
def _cluster_spellings() -> Mapping[str, str]:
    return load.spellings(clusters())


@cache
def _model_spellings() -> Mapping[str, str]:
    return load.spellings(all_models())
