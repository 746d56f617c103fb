"""Programs whose results would fill the judge's memory or take its time: what they may cost is counted and bounded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("weighed_verification.py")
PROMISES = ("ensures", "law", "reference")
MIB = 1 << 20


def weigh(kind: str, program: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SCRIPT), kind, program], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def same_list_every_time(value: str) -> str:
    return f"V = {value}\ndef f(n):\n    return V\n"


@pytest.mark.parametrize("kind", PROMISES)
def test_values_that_are_too_large_cost_nothing_and_are_not_accepted(kind: str) -> None:
    found = weigh(kind, same_list_every_time("[[] for _ in range(190_000)]"))
    assert found["status"] != "TESTED"
    assert "too large to be judged" in found["reason"] or found["status"] == "REFUTED"
    assert found["peak_mib"] < 50
    assert found["num_runs"] < 40
    assert found["num_value_bytes"] < MIB


@pytest.mark.parametrize("item", ["[]", "()", "frozenset()", "1.5", "2 ** 60"])
def test_many_values_of_the_largest_size_cost_no_more_than_the_room_of_one_run(item: str) -> None:
    size = {"[]": 11_900, "1.5": 21_800}.get(item, 3_200)
    found = weigh("run", same_list_every_time(f"[{item} for _ in range({size})]"))
    num_answered = found["kinds"].count("returned")
    assert found["stopped_by"] == "results"
    assert found["kinds"] == ["returned"] * num_answered + ["missing"] * (200 - num_answered)
    assert 7 <= num_answered <= 20
    assert found["num_value_bytes"] <= 9 * MIB
    assert found["peak_mib"] < 40


def test_a_verification_of_values_of_the_largest_size_is_bounded() -> None:
    # Two values an input are compared for a law, so that it costs the most of all promises.
    found = weigh("law", same_list_every_time("[[] for _ in range(11_900)]"))
    assert found["peak_mib"] < 200
    assert found["num_value_bytes"] < 250 * MIB


def test_what_a_program_writes_itself_on_the_channel_of_results_is_not_kept() -> None:
    program = "import os\ndef f(n):\n    for _ in range(1 << 10): os.write(3, b'x' * (1 << 19))"
    found = weigh("run", program)
    assert (found["stopped_by"], set(found["kinds"])) == ("output", {"missing"})
    assert found["peak_mib"] < 60


def test_large_answers_that_a_program_writes_itself_are_not_kept() -> None:
    program = """
import json, os
def f(n):
    for number in range(200):
        line = json.dumps(["call", number, "returned", [[]] * 100_000, "", ""])
        os.write(3, line.encode() + b"\\n")
"""
    found = weigh("run", program)
    assert set(found["kinds"]) == {"missing"}
    assert found["peak_mib"] < 60
