"""Every value of the data files stands in the ledger as well."""

import csv
import difflib

import ledger


def test_the_data_are_those_of_the_ledger():
    changes = difflib.unified_diff(
        ledger.LEDGER.read_text("utf-8").splitlines(),
        ledger.text().splitlines(),
        "tests/ledger.csv",
        "wallsite/tables/data",
        lineterm="",
        n=0,
    )
    assert not (changed := "\n".join(changes)), (
        f"{changed}\nIf this is meant, run python -m tests.ledger and have the diff reviewed."
    )


def test_a_value_is_on_record_with_all_that_says_what_it_is():
    with ledger.LEDGER.open(encoding="utf-8", newline="") as file:
        found = {(row["entry"], row["field"]): row for row in csv.DictReader(file)}
    bandwidth = found["b200", "bandwidth, alternative 1"]
    assert (bandwidth["value"], bandwidth["unit"], bandwidth["kind"]) == ("8.0", "TB/s", "vendor")
    assert bandwidth["source"]
    assert found["nvlink4", "bandwidth"]["per"] == "direction"
    assert found["h100-sxm", "fp16_sparse"]["dense"] == "False"
    assert found["h100-sxm", "link"]["value"] == "nvlink4"
    assert found["q3.alpha", ""]["value"] == "5"
