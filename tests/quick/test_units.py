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
