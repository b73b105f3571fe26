"""What an explanation consists of, and the bands that a share of a bound falls into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wallsite._checks import MOST_OF_A_BOUND
from wallsite.explain.text import phrase
from wallsite.tables.schema import Text

WRONG_PATH, OVERHEAD, HEALTHY, NEAR, ABOVE = "wrong-path", "overhead", "healthy", "near", "above"
NOT_JUDGED = "not-judged"
# The least share of each band. Below a twentieth something else runs than was meant; below a half
# more than half of the time goes to something that no bound counts.
_BANDS = (
    (MOST_OF_A_BOUND, ABOVE),
    (0.9, NEAR),
    (0.5, HEALTHY),
    (0.05, OVERHEAD),
    (0.0, WRONG_PATH),
)

BAND_WORDS = {
    WRONG_PATH: phrase("below 5%: something else runs than you think"),
    OVERHEAD: phrase("5 to 50%: most of the time goes to something that is not a wall"),
    HEALTHY: phrase("50 to 90%: healthy"),
    NEAR: phrase("90 to 102%: at the bound, as far as a datasheet can tell"),
    ABOVE: phrase("above 102%: impossible, so the measurement or the bound is wrong"),
    NOT_JUDGED: phrase("not judged"),
}
WALL_WORDS = {
    "memory": phrase("memory"),
    "compute": phrase("compute"),
    "communication": phrase("communication"),
    "capacity": phrase("capacity: it does not fit"),
    "none": phrase("not a wall"),
    "unknown": phrase("unknown"),
}


def band(share: float | None) -> str:
    """The band of a share of a bound; `NOT_JUDGED` without one."""
    if share is None:
        return NOT_JUDGED
    return next(
        name for least, name in _BANDS if share > least or (share == least and name != ABOVE)
    )


class Bound(NamedTuple):
    """What cannot be passed.

    Attributes:
        wall: ``"memory"``, ``"compute"`` or ``"communication"``.
        value: in SI base units: s, byte/s, FLOP/s or token/s.
        unit: which of them.
        arithmetic: how it comes about, for people.
    """

    wall: str
    value: float
    unit: str
    arithmetic: Text


class Cause(NamedTuple):
    """Something that would make the number what it is, and the check that tells."""

    text: Text
    check: Text


@dataclass(frozen=True)
class Explanation:
    """What a measured number means.

    Attributes:
        recognized: what was understood of the input, a line each.
        bounds: what limits it, the tightest first.
        measured: the number, for people; None where none was given.
        share: measured ÷ tightest bound, None where there is nothing to compare.
        wall: ``"memory"``, ``"compute"``, ``"communication"``, ``"capacity"``, ``"none"`` (not a
            wall) or ``"unknown"``.
        causes: what fits this share on this kind of device, the likeliest first.
        following: the experiment to make next.
        page: the section that teaches it, ``three-walls/memory.md#is-it-normal``.
        notes: caveats and what follows besides.
        missing: inputs that were not given, with what they would change.
    """

    recognized: tuple[Text, ...]
    bounds: tuple[Bound, ...]
    measured: Text | None = None
    share: float | None = None
    wall: str = "unknown"
    causes: tuple[Cause, ...] = ()
    following: Text | None = None
    page: str = ""
    notes: tuple[Text, ...] = ()
    missing: tuple[Text, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def band(self) -> str:
        """The band that the share falls into."""
        return band(self.share)


def judged(bounds: Sequence[Bound], share: float | None) -> str:
    """Name the wall: that of the tightest bound if at least half of it is reached, else none."""
    if share is None:
        return bounds[0].wall if bounds else "unknown"
    return {HEALTHY: bounds[0].wall, NEAR: bounds[0].wall, ABOVE: "unknown"}.get(
        band(share), "none"
    )
