"""Pulling, seen from the command line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armillary.cli.pull import BarMeter, LineMeter
from armillary.models.hub import PullProgress
from armillary.runtime import stack

Run = Callable[..., Any]
NAME = "smollm2-135m"


@pytest.mark.model
def test_a_local_copy_is_pulled_checked_and_its_path_printed(armillary: Run, real_model: str, home: Path) -> None:
    source = (home / "models" / f"{NAME}.gguf").resolve()
    (home / "models" / f"{NAME}.gguf").unlink()
    ran = armillary("pull", NAME, "--source", str(source))
    assert (ran.code, ran.out) == (0, f"{home / 'models' / NAME}.gguf\n")
    assert ran.err.endswith(f"{NAME}: 98.4 MB, from {source}\n")


@pytest.mark.model
def test_a_model_that_is_there_is_checked_and_not_fetched(armillary: Run, real_model: str) -> None:
    ran = armillary("pull", NAME, "--json")
    assert ran.code == 0
    assert ran.json["already_there"] is True
    assert "was there already" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("smollm2",), 3, "error: no model is called 'smollm2' (did you mean smollm2-135m? "),
        ((NAME, "--source", "nowhere"), 1, "error: smollm2-135m could not be fetched: "),
        ((NAME, "--source", "copy.gguf"), 1, "error: smollm2-135m.gguf: the bytes have the hash "),
        ((), 2, "error: Missing argument 'NAME'."),
    ],
)
def test_bad_input_ends_in_one_clear_line(
    armillary: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, line: str
) -> None:
    (tmp_path / "copy.gguf").write_bytes(b"GGUF and something else")
    ran = armillary("pull", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert [text for text in ran.err.splitlines() if text.startswith("error: ")] == [ran.err.splitlines()[-1]]
    assert ran.err.splitlines()[-1].startswith(line)


def test_a_file_with_wrong_bytes_is_not_kept(armillary: Run, tmp_path: Path, home: Path) -> None:
    (tmp_path / "copy.gguf").write_bytes(b"GGUF and something else")
    armillary("pull", NAME, "--source", "copy.gguf")
    assert not (home / "models" / f"{NAME}.gguf").exists()


def test_a_truncated_model_file_is_told_with_the_way_out(armillary: Run, home: Path) -> None:
    (home / "models").mkdir(parents=True)
    (home / "models" / f"{NAME}.gguf").write_bytes(b"GGUF")
    ran = armillary("pull", NAME)
    assert ran.code == 1
    assert "has 4 bytes" in ran.err
    assert f"remove it and run armillary pull {NAME}" in ran.err


def test_a_home_that_cannot_be_written_is_one_line(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_HOME", "/proc/nowhere")
    ran = armillary("pull", NAME)
    assert ran.code == 1
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("num_bytes", "said"),
    [
        (0, "no piece was finished, so nothing is kept; the same command begins anew"),
        (
            5_000_000,
            "5.0 MB of finished pieces are kept in {home}/models/.partial; the same command goes on from there",
        ),
    ],
)
def test_ctrl_c_says_what_is_kept_and_where(
    armillary: Run, monkeypatch: pytest.MonkeyPatch, home: Path, num_bytes: int, said: str
) -> None:
    kept = home / "models" / ".partial" / NAME
    kept.mkdir(parents=True)
    (kept / "piece.whl").write_bytes(bytes(num_bytes))

    def stop(name: str, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "pull_model", stop)
    ran = armillary("pull", NAME)
    assert ran.code == 130
    assert ran.err == f"interrupted; {said.format(home=home)}\n"


def steps() -> list[PullProgress]:
    arriving = [PullProgress("downloading", "tiny from hub", size, 100) for size in range(0, 101, 5)]
    return [PullProgress("waiting", "another process is pulling tiny"), *arriving]


def test_without_a_terminal_each_tenth_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with LineMeter() as meter:
        for step in steps():
            meter.show(step)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == ["another process is pulling tiny", "tiny from hub", "tiny from hub: 10 B of 100 B"]
    assert len(lines) == 12


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_bar_shows_bytes_and_source(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with BarMeter() as meter:
        for step in steps():
            meter.show(step)
    assert "another process is pulling tiny" in terminal.getvalue()
    assert "tiny from hub" in terminal.getvalue()
    assert "100/100 bytes" in terminal.getvalue()
