"""What goes stale first: dates as documents write them, and what pages say as of when."""

from datetime import date
from pathlib import Path

import ages
import pytest
from click.testing import CliRunner


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-30", date(2026, 11, 30)),
        ("2026, read 2026-11", date(2026, 11, 1)),
        ("2025-09-18; 2026-09-17", date(2026, 9, 17)),
        ("2017, early edition and R5", date(2017, 1, 1)),
        ("@81ce03a, v0.8", ages.UNDATED),
        ("edition not recorded", ages.UNDATED),
    ],
)
def test_the_date_of_a_document(text, day):
    assert ages.dated(text) == day


@pytest.mark.parametrize(
    ("language", "text", "since"),
    [
        ("en", "What ships as of November 2026", date(2026, 11, 1)),
        ("en", "By 30 November 2026 they had", date(2026, 11, 1)),
        ("en", "By late 2026 chips", date(2026, 12, 1)),
        ("zh", "到 2026 年 11 月，什么在出货", date(2026, 11, 1)),
        ("zh", "到 2026 年底，芯片", date(2026, 12, 1)),
    ],
)
def test_what_a_page_says_as_of_when(language, text, since):
    (each,) = ages.said(f"# A\n\n{text}\n", Path("a.md"), language)
    assert (each.since, each.kind, each.where) == (since, "as of", "a.md:3")


def test_years_of_the_past_do_not_age():
    assert list(ages.said("Announced in 2020, on 5 January 2026.", Path("a.md"), "en")) == []
    assert list(ages.said("2020 年发布，2018 到 2023 年间", Path("a.md"), "zh")) == []


def test_when_it_is_due_by_hand():
    each = ages.Statement(date(2026, 11, 30), "announced", "x", "y")
    assert each.due == date(2027, 2, 1)  # three months later, from the month’s first day
    assert ages.Statement(date(2026, 12, 1), "page", "x", "y").due == date(2027, 12, 1)


def test_every_kind_of_document_has_a_time():
    from wallsite import tables

    assert {source.kind for source in tables.sources().values()} <= ages.KEEPS.keys()


def test_the_list_is_in_order():
    done = CliRunner().invoke(ages.main, [])
    assert done.exit_code == 0
    *every, last = done.stdout.splitlines()
    assert last == f"{len(every)} statements"
    assert any("rubin" in line and "preliminary" in line for line in every)
    assert any("docs/zh/three-walls/generations.md" in line for line in every)
    found = list(ages.statements())
    first = min(found, key=lambda each: (each.due, each.where))
    assert first.where in every[0]
    assert "now" in CliRunner().invoke(ages.main, ["--by", "since"]).stdout
    none = CliRunner().invoke(ages.main, ["--until", "1999-01"])
    assert none.stdout.split() == ["0", "statements"]
