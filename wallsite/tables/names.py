"""Looking things up by name, and saying helpfully that a name is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


class UnknownName(KeyError):  # noqa: N818 (it reads as what it is, like KeyError itself)
    """A name that is in no table. Its text is one line that lists near matches."""

    def __str__(self) -> str:
        """Return the message itself: a plain KeyError would print it quoted."""
        return str(self.args[0])


def near_matches(name: str, known: Iterable[str]) -> list[str]:
    """List up to four known names close to a mistyped one, best first."""
    from difflib import get_close_matches  # noqa: PLC0415 (only mistakes pay for this import)

    return get_close_matches(name, list(known), n=4, cutoff=0.5)


def unknown(what: str, name: str, known: Mapping[str, str]) -> UnknownName:
    """Build the error for a name that is not known.

    Args:
        what: the kind of thing looked for, such as ``"device"``.
        name: the name that was asked for.
        known: every accepted spelling, in lower case, and the id it stands for.
    """
    near = dict.fromkeys(known[key] for key in near_matches(name.casefold(), known))
    hint = f"did you mean {' or '.join(near)}?" if near else "no known name is close to it"
    return UnknownName(f"unknown {what} {name!r}; {hint}")


def find(what: str, name: str, things: Mapping[str, T], spellings: Mapping[str, str]) -> T:
    """Return the thing of that id, name or alias; upper and lower case are the same.

    Raises:
        UnknownName: nothing has that name.
    """
    thing_id = spellings.get(name.strip().casefold())
    if thing_id is None:
        raise unknown(what, name, spellings)
    return things[thing_id]
