"""Units and the rounding rule."""

from decimal import Decimal

import pytest

from wallsite import units


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("TB/s", 1e12),
        ("GB/s", 1e9),
        ("Gb/s", 1e9 / 8),
        ("GB", 1e9),
        ("GiB", 2**30),
        ("MiB", 2**20),
        ("TFLOP/s", 1e12),
        ("PFLOP/s", 1e15),
        ("pJ", 1e-12),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("天", 86400),
        ("%", 0.01),
        ("×", 1),
        ("万", 1e4),
        ("亿", 1e8),
    ],
)
def test_scale(name, size):
    assert units.scale(name) == pytest.approx(size, rel=1e-12)


def test_unknown_unit_lists_near_matches():
    with pytest.raises(ValueError, match=r"^unknown unit 'TBs'; did you mean .*TB/s"):
        units.scale("TBs")
    with pytest.raises(ValueError, match=r"^unknown unit None$"):
        units.scale(None)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (281.25, 1, "281.3"),  # exact ties of the ridge table
        (312.5, 0, "313"),
        (562.5, 0, "563"),
        (-312.5, 0, "-313"),
        (2.675, 2, "2.68"),  # stored as 2.67499…
        (295.3432, 0, "295"),
        (295.5224, 0, "296"),
        (0.285, 2, "0.29"),
        (1e23, -22, "1.0E+23"),
        (-0.001, 1, "0.0"),
        (1e30, 2, "1000000000000000000000000000000.00"),
        (295.34, 30, "295.340000000000000000000000000000"),
    ],
)
def test_ties_go_away_from_zero(value, digits, expected):
    assert str(units.round_half_away(value, digits)) == str(Decimal(expected))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_rounding_refuses_what_is_not_a_number(bad):
    with pytest.raises(ValueError, match="not a finite number"):
        units.round_half_away(bad, 1)


def test_quantities_are_written_with_their_unit():
    assert units.format_quantity(3.35e12, "TB/s", 2) == "3.35 TB/s"
    assert units.format_quantity(0.38, "%") == "38%"
    assert units.format_quantity(2.2985, "×", 2) == "2.30×"
    assert units.format_number(5294.1) == "5,294"


# SI brochure, 9th edition, table 7; IEC 80000-13 for the binary ones.
SI = {
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
    "Z": 21,
    "m": -3,
    "µ": -6,
    "n": -9,
    "p": -12,
}
IEC = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}
WHOLE = {
    "FLOP/s": (1, "FLOP/s"),
    "OP/s": (1, "FLOP/s"),
    "FLOP": (1, "FLOP"),
    "FLOPs": (1, "FLOP"),
    "B/s": (1, "byte/s"),
    "byte/s": (1, "byte/s"),
    "b/s": (1 / 8, "byte/s"),
    "B": (1, "byte"),
    "byte": (1, "byte"),
    "bytes": (1, "byte"),
    "字节": (1, "byte"),
    "bit": (1 / 8, "byte"),
    "bits": (1 / 8, "byte"),
    "-bit": (1 / 8, "byte"),
    "位": (1 / 8, "byte"),
    "FLOP/byte": (1, "FLOP/byte"),
    "OP/byte": (1, "FLOP/byte"),
    "W": (1, "W"),
    "s": (1, "s"),
    "J": (1, "J"),
    "V": (1, "V"),
    "nm": (1e-9, "m"),
    "GT/s": (1e9, "transfer/s"),
    "MHz": (1e6, "1/s"),
    "GHz": (1e9, "1/s"),
    **dict.fromkeys(("tokens/s", "token/s"), (1, "token/s")),
    **dict.fromkeys(("ms/token", "ms/tok"), (1e-3, "s")),
    **dict.fromkeys(("GPU·h", "GPU hours", "卡时"), (3600, "s")),
    "million GPU hours": (3600e6, "s"),
    "万卡时": (3600e4, "s"),
    **dict.fromkeys(("seconds", "second", "秒"), (1, "s")),
    **dict.fromkeys(("min", "minutes", "minute", "分钟"), (60, "s")),
    **dict.fromkeys(("h", "hours", "hour", "小时"), (3600, "s")),
    **dict.fromkeys(("d", "days", "day", "天"), (86400, "s")),
    **dict.fromkeys(("years", "year", "年"), (365.25 * 86400, "s")),
    **dict.fromkeys(("", "×", "倍", "tokens", "token", "GPUs", "卡", "张", "个", "次"), (1, "1")),
    **dict.fromkeys(("layers", "层"), (1, "1")),
    "%": (0.01, "1"),
    "thousand": (1e3, "1"),
    "万": (1e4, "1"),
    "million": (1e6, "1"),
    "亿": (1e8, "1"),
    "B params": (1e9, "1"),
    "billion": (1e9, "1"),
    "万亿": (1e12, "1"),
    "trillion": (1e12, "1"),
}


@pytest.mark.parametrize("name", units.UNITS)
def test_every_unit_is_what_standards_and_dictionaries_say(name):
    if name in WHOLE:
        size, dimension = WHOLE[name]
    elif name[:2] in IEC:
        size, dimension = 2 ** IEC[name[:2]], WHOLE[name[2:]][1]
    else:
        whole = WHOLE[name[1:]]
        size, dimension = 10 ** SI[name[0]] * whole[0], whole[1]
    assert units.unit(name).scale == pytest.approx(size, rel=1e-12)
    assert units.unit(name).dimension == dimension
