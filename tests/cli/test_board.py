"""What the board knows after each token and event."""

from __future__ import annotations

from collections.abc import Callable

from armillary.cli.board import Board
from armillary.core.messages import Token
from armillary.core.trace import Trace
from armillary.core.verdicts import Status, Verdict, verdict_to_json

Tell = Callable[..., None]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_new_board_waits_for_the_model() -> None:
    board = Board()
    assert board.rows == {}
    assert board.headline == "loading the model | 0 tokens/s | first verdict: none yet"


def test_tokens_are_counted_per_candidate() -> None:
    board = Board()
    for candidate in (0, 1, 1):
        board.on_token(Token(candidate, "x"))
    assert [(row.id, row.state, row.num_tokens) for row in board.rows.values()] == [
        ("a0", "writing", 1),
        ("a1", "writing", 2),
    ]


def test_speed_is_tokens_over_the_time_since_the_first() -> None:
    clock = Clock()
    board = Board(clock)
    for _ in range(11):
        board.on_token(Token(0, "x"))
        clock.now += 0.1
    assert round(board.tokens_per_s, 3) == 11.0


def test_a_single_token_has_no_speed() -> None:
    board = Board(Clock())
    board.on_token(Token(0, "x"))
    assert board.tokens_per_s == 0.0


def test_an_attempt_is_tested_until_its_verdict_comes() -> None:
    board = Board()
    trace = Trace(None, (board.on_event,))
    trace.append("attempt", {"id": "a0", "parent": None, "tokens": 31})
    assert (board.rows["a0"].state, board.rows["a0"].num_tokens) == ("testing", 31)


def test_the_attempt_under_test_shows_its_level() -> None:
    board = Board()
    trace = Trace(None, (board.on_event,))
    board.on_token(Token(1, "x"))
    trace.append("attempt", {"id": "a0", "parent": None, "tokens": 31})
    board.on_level("examples")
    assert [row.note for row in board.rows.values()] == ["", "examples"]


def test_an_accepted_verdict_without_a_reason_shows_its_status() -> None:
    board = Board()
    trace = Trace(None, (board.on_event,))
    trace.append("verdict", {"attempt": "a0", "verdict": verdict_to_json(Verdict(Status.TESTED))})
    assert board.rows["a0"].note == "TESTED"


def test_verdicts_become_states_and_notes(tell: Tell) -> None:
    board = Board()
    tell(board.on_event)
    assert [(row.title, row.state, row.note) for row in board.rows.values()] == [
        ("a0", "refuted", "f([1]) -> [bold]3, expected 2"),
        ("a1", "undecided", "nothing to hold it to"),
        ("a2 from a0", "accepted", "TESTED: passed 120 inputs"),
    ]


def test_the_answer_marks_the_chosen_row_only(tell: Tell) -> None:
    board = Board()
    tell(board.on_event)
    assert [row.id for row in board.rows.values() if row.is_chosen] == ["a2"]


def test_the_headline_names_the_model_and_the_time_from_its_start_to_the_first_verdict() -> None:
    clock = Clock()
    board = Board(clock)
    trace = Trace(None, (board.on_event,))
    clock.now += 30
    trace.append("header", {"model": {"name": "tiny", "sha256": ""}})
    clock.now += 2.5
    trace.append("verdict", {"attempt": "a0", "verdict": verdict_to_json(Verdict(Status.UNKNOWN))})
    clock.now += 9
    trace.append("verdict", {"attempt": "a1", "verdict": verdict_to_json(Verdict(Status.UNKNOWN))})
    assert board.headline == "tiny | 0 tokens/s | first verdict: 2.5 s"
