"""The bench command around a topic that measures nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from armillary.bench.rows import Row
from armillary.cli import bench

Run = Callable[..., Any]
FAST = Row("C1", "decode", 41.25, "tokens/s", 30.0, "higher", True, "llama.cpp", 5, None, 2, 0.1, "a core", "abc")


class Topic:
    """Stands for a topic's module; remembers how it was asked."""

    def __init__(self, *rows: Row) -> None:
        self.rows = rows
        self.asked: dict[str, Any] = {}

    def run(self, **asked: Any) -> tuple[Row, ...]:
        self.asked = asked
        return self.rows


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Topic]:
    def use(*rows: Row) -> Topic:
        fake = Topic(*rows)
        monkeypatch.setattr(bench, "import_module", lambda name: fake)
        return fake

    return use


def test_rows_are_printed_with_what_they_hold(armillary: Run, topic: Callable[..., Topic]) -> None:
    topic(FAST, replace(FAST, metric="kl", value=0.00123456, unit="nats", target=None, holds=None))
    ran = armillary("bench", "engine")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "metric  value     unit      target  holds  n",
        "decode  41.25     tokens/s  30      yes    5",
        "kl      0.001235  nats                     5",
    ]


def test_a_missed_claim_fails_and_is_named(armillary: Run, topic: Callable[..., Topic]) -> None:
    topic(replace(FAST, value=20.0, holds=False))
    ran = armillary("bench", "engine")
    assert (ran.code, ran.err) == (1, "missed: decode\n")


def test_a_partial_run_says_that_it_is_not_published(armillary: Run, topic: Callable[..., Topic]) -> None:
    topic(replace(FAST, is_partial=True))
    ran = armillary("bench", "engine", "--quick")
    assert (ran.code, ran.err.startswith("a partial run")) == (0, True)


def test_options_reach_the_topic(armillary: Run, topic: Callable[..., Topic], tmp_path: Path) -> None:
    fake = topic(FAST)
    armillary("bench", "solve", "--quick", "--data", str(tmp_path), "--limit", "4", "--noisy")
    assert fake.asked == {"quick": True, "data": tmp_path, "limit": 4, "noisy": True}


def test_rows_go_to_a_file_beside_the_table(armillary: Run, topic: Callable[..., Topic], tmp_path: Path) -> None:
    topic(FAST)
    ran = armillary("bench", "engine", "--json", str(tmp_path / "rows.json"))
    assert json.loads((tmp_path / "rows.json").read_text())["rows"][0]["value"] == 41.25
    assert ran.out.startswith("metric")


def test_a_dash_prints_one_json_object_instead_of_the_table(armillary: Run, topic: Callable[..., Topic]) -> None:
    topic(FAST)
    ran = armillary("bench", "engine", "--json", "-")
    assert ran.json["topic"] == "engine"
    assert ran.json["rows"][0]["metric"] == "decode"


def test_an_unknown_topic_lists_the_known_ones(armillary: Run) -> None:
    ran = armillary("bench", "speed")
    assert (ran.code, ran.err) == (2, "error: unknown topic 'speed' (known: demo, engine, solve, verify)\n")


def test_a_data_folder_that_is_not_there_is_not_found(armillary: Run) -> None:
    ran = armillary("bench", "solve", "--data", "nowhere")
    assert (ran.code, ran.err) == (3, "error: no folder nowhere\n")


def test_a_place_that_cannot_hold_the_rows_is_told_before_anything_is_measured(armillary: Run) -> None:
    ran = armillary("bench", "engine", "--json", "nowhere/rows.json")
    assert (ran.code, ran.err) == (3, "error: no folder nowhere\n")


def test_a_limit_of_nothing_is_wrong_usage(armillary: Run) -> None:
    assert armillary("bench", "solve", "--limit", "0").code == 2


def test_ctrl_c_says_that_finished_items_are_kept(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        def run(self, **asked: Any) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(bench, "import_module", lambda name: Stopped())
    ran = armillary("bench", "engine")
    assert ran.code == 130
    assert ran.err.startswith("interrupted; the items that were finished are kept")
