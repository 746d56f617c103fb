"""Lines, JSON and interruptions."""

from __future__ import annotations

import json

import pytest

from armillary.cli.output import Interrupted, columns, emit, human_bytes, keeping, say, shown


def test_progress_goes_to_stderr_only(capsys: pytest.CaptureFixture[str]) -> None:
    say("half way")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "half way\n")


def test_json_is_one_line_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"name": "né", "rows": [1, None]})
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert json.loads(captured.out) == {"name": "né", "rows": [1, None]}


def test_a_line_cannot_rule_the_terminal_nor_forge_another_line(capsys: pytest.CaptureFixture[str]) -> None:
    say("REFUTED: \x1b]0;owned\x07\nTESTED")
    assert capsys.readouterr().err == "REFUTED: \\x1b]0;owned\\x07\\nTESTED\n"


def test_json_holds_no_control_character_and_reads_back_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    body = {"text": "\x1b[2J \x9b \u202e \ud800 \U000e0001 é"}
    emit({**body})
    out = capsys.readouterr().out
    assert out.rstrip("\n").isprintable()
    assert json.loads(out) == body


def test_columns_stand_under_each_other_without_trailing_spaces() -> None:
    assert columns([("a", "bb", "c"), ("aaa", "b", "")]) == ["a    bb  c", "aaa  b"]


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (98_362_432, "98.4 MB"), (5e9, "5.0 GB"), (2e12, "2.0 TB")],
)
def test_sizes_are_readable(num_bytes: float, text: str) -> None:
    assert human_bytes(num_bytes) == text


def test_an_interruption_says_what_was_kept() -> None:
    with (
        pytest.raises(Interrupted, match=r"^interrupted; two parts were kept$"),
        keeping(lambda: "two parts were kept"),
    ):
        raise KeyboardInterrupt


def test_without_an_interruption_nobody_asks_what_was_kept() -> None:
    with keeping(lambda: pytest.fail("asked")):
        pass


def test_a_models_text_cannot_rule_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "a\tb\n\x1b]0;owned\x07\r\x9b é"
    assert shown(text) == text
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert shown(text) == "a\tb\n\\x1b]0;owned\\x07\\r\\x9b é"


def test_json_is_ascii_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    body = {"text": "é \ud800 \x7f 🙂"}
    emit({**body})
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == body
    assert out.rstrip("\n").isprintable()
