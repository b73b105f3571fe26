"""Looking things up by name, and saying helpfully that a name is unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from wallsite._checks import did_you_mean, near_matches

T = TypeVar("T")

FEW = 16  # names that an error message can list all of


class UnknownName(KeyError):  # noqa: N818 (it reads as what it is, like KeyError itself)
    """A name that is in no table. Its text is one line that lists near matches."""

    def __str__(self) -> str:
        """Return the message itself: a plain KeyError would print it quoted."""
        return str(self.args[0])


def spelling(name: object) -> str:
    """Reduce a name to what tells it from others: case, and a space for a hyphen, do not."""
    # A page's options come from YAML, which reads a bare 4090 as a number.
    return str(name).strip().casefold().replace(" ", "-")


# What drivers and /proc/cpuinfo write around a name.
_AROUND = re.compile(
    r"^(?:(?:nvidia|amd|aws|intel|google|huawei|apple|tesla|geforce|instinct|radeon|英伟达|华为|谷歌|英特尔)"
    r"[\s_-]*)+|\((?:r|tm)\)|\bcpu\b|@.*$|-\d+-cores?\b|-processor$|-(?:workstation-)?edition$",
    re.IGNORECASE,
)
_IN_CHINESE = {"昇腾": "ascend"}


def loosely(name: object) -> str:
    """Reduce a name further: nothing around it, no marks within it, 昇腾 in English."""
    text = spelling(name)
    for chinese, english in _IN_CHINESE.items():
        text = text.replace(chinese, english)
    return re.sub(r"[\W_]+", "", _AROUND.sub("", text))


def unknown(what: str, name: object, known: Mapping[str, str]) -> UnknownName:
    """Build the error for a name that is not known.

    Args:
        what: the kind of thing looked for, such as ``"device"``.
        name: the name that was asked for.
        known: every accepted name as `spelling` reduces it, and the id it stands for.
    """
    near = dict.fromkeys(known[key] for key in near_matches(spelling(name), known))
    ids = dict.fromkeys(known.values())
    hint = did_you_mean(near) if near else ""
    if len(ids) <= FEW:
        hint += f"; known: {', '.join(ids)}"
    return UnknownName(f"unknown {what} {name!r}{hint or '; no known name is close to it'}")


def find(what: str, name: str, things: Mapping[str, T], spellings: Mapping[str, str]) -> T:
    """Return the thing of that id, name or alias.

    Args:
        what: the kind of thing, for the error message.
        name: any spelling of its name: case and marks do not matter, nor what drivers write around
            it, so that NVIDIA H100, h100sxm and 昇腾910B are found.
        things: all of them by id.
        spellings: every accepted name as `spelling` reduces it, and the id it stands for.

    Raises:
        UnknownName: nothing has that name.
    """
    thing_id = spellings.get(spelling(name))
    if thing_id is None:
        loose = loosely(name) if isinstance(name, str | int) else ""
        near = {known_id for known, known_id in spellings.items() if loosely(known) == loose}
        if len(near) != 1 or not loose:
            raise unknown(what, name, spellings)
        (thing_id,) = near
    return things[thing_id]
