"""The two views of a running solve."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from armillary.cli.board import Board, Row
from armillary.cli.live import MAX_NOTE_CHARS, LineView, TableView, draw, open_view, shorten
from armillary.core.messages import Token

Tell = Callable[..., None]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(board: Board) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(draw(board))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_without_a_terminal_every_verdict_and_decision_is_a_line(
    tell: Tell, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_view() as view:
        view.on_token(Token(0, "x"))
        tell(view.on_event)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "model tiny",
        "a0: refuted, f([1]) -> [bold]3, expected 2",
        "a1: undecided, nothing to hold it to",
        "selection: a0 stands alone",
        "a2 from a0: accepted, TESTED: passed 120 inputs",
        "revision: adds ensures[0]",
    ]


def test_levels_make_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with LineView() as view:
        view.on_level("examples")
    assert capsys.readouterr().err == ""


def test_the_line_view_writes_nothing_to_stdout(tell: Tell, capsys: pytest.CaptureFixture[str]) -> None:
    with LineView() as view:
        tell(view.on_event)
    assert capsys.readouterr().out == ""


def test_on_a_terminal_a_table_stays_when_the_solve_is_over(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with open_view() as view:
        view.on_token(Token(0, "x"))
        view.on_level("examples")
        tell(view.on_event)
    assert isinstance(view, TableView)
    last = terminal.getvalue()
    assert "TESTED: passed 120 inputs" in last
    assert last.rstrip().endswith("\x1b[?25h"), "the cursor is shown again"


def test_the_table_shows_every_candidate_with_its_evidence(tell: Tell) -> None:
    board = Board()
    tell(board.on_event)
    text = drawn(board)
    assert text.splitlines()[0].startswith("tiny | ")
    assert [line.split()[:1] for line in text.splitlines()[2:]] == [["a0"], ["a1"], ["->"]]


def test_what_a_program_printed_is_no_markup(tell: Tell) -> None:
    board = Board()
    tell(board.on_event)
    assert "[bold]3" in drawn(board)


def test_neither_names_nor_evidence_rule_the_table() -> None:
    board = Board()
    board.model = "[red]tiny\x1b[2J"
    board.rows["a0"] = Row("a0", note="[red]x[/red] \x1b]0;owned\x07", parent="[/]")
    text = drawn(board)
    assert r"[red]tiny\x1b[2J" in text
    assert "a0 from [/]" in text
    assert r"[red]x[/red] \x1b]0;owned\x07" in text
    assert "\x1b" not in text


def test_long_evidence_is_cut() -> None:
    assert len(shorten("x" * 1000)) == MAX_NOTE_CHARS
    assert shorten("x" * MAX_NOTE_CHARS) == "x" * MAX_NOTE_CHARS
