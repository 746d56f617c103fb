"""A chat on a terminal: prompts, Ctrl-C, Ctrl-D, and nothing from the model that could rule it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_stage import Actor, Keyboard, holding, turns_of
from fake_server import answers, serve
from terminal import Terminal

from armillary.cli.chat_commands import COMMANDS
from armillary.core.errors import RemoteError
from armillary.core.messages import Event, Finished, Request, Token, Usage
from armillary.runtime import stack
from armillary.runtime.conversation import newest

Run = Callable[..., Any]


@pytest.fixture
def typed(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """One chat on a terminal, typed by hand."""

    def call(*acts: str | BaseException, is_stdout_terminal: bool = True, arguments: tuple[str, ...] = ()) -> Any:
        keyboard = Keyboard(*acts)
        monkeypatch.setattr("builtins.input", keyboard)
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stdout.isatty", lambda: is_stdout_terminal)
        ran = armillary("chat", *arguments)
        return ran, keyboard.prompts

    return call


def test_on_a_terminal_an_error_is_told_and_the_chat_goes_on(typed: Run, actor: Run, folder: Path) -> None:
    model = actor(Finished(0, "error", Usage(), "the connection broke"), RemoteError("no server"), "1")
    ran, prompts = typed("a", "/dance", "", "b", "/retry", "/exit")
    assert ran.code == 0
    assert ran.out == "Partial\nPartial\n1\n"
    assert ran.err.splitlines()[1:] == [
        "error: the model stopped: the connection broke (/retry asks again)",
        f"error: unknown command /dance (known: {', '.join(f'/{name}' for name in COMMANDS)})",
        "error: no server",
        f"kept as {newest(folder).stem}",
    ]
    assert prompts == ["> "] * 6
    assert model.seen == [["a"], ["a", "Partial", "b"], ["a", "Partial", "b"]]


def test_files_of_a_question_that_failed_go_along_again(typed: Run, actor: Run, tmp_path: Path) -> None:
    model = actor(RemoteError("no server"), "1")
    (tmp_path / "a.py").write_text("1")
    typed("/file a.py", "a", "/retry", EOFError())
    assert model.seen[0] == model.seen[1] == ["a.py:\n```\n1\n```\n\na"]


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on_with_its_part(typed: Run, actor: Run, folder: Path) -> None:
    model = actor(KeyboardInterrupt(), "1")
    ran, _ = typed("a", "b", EOFError())
    assert ran.code == 0
    assert "stopped; what was written is kept\n" in ran.err
    assert model.seen[-1] == ["a", "Partial", "b"]
    assert len(turns_of(newest(folder))) == 2


def test_an_impatient_second_ctrl_c_loses_nothing(typed: Run, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    class Hurried(Actor):
        def stream(self, request: Request) -> Iterator[Event]:
            try:
                yield Token(0, "Partial")
                signal.raise_signal(signal.SIGINT)
                yield Token(0, "never")
            finally:
                signal.raise_signal(signal.SIGINT)

    def flush_to_disk(file: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(stack, "generator_for", lambda settings: Hurried())
    monkeypatch.setattr("os.fsync", flush_to_disk)
    ran, _ = typed("a", EOFError())
    assert (ran.code, ran.out) == (0, "Partial\n")
    assert [turn.answer for turn in turns_of(newest(folder))] == ["Partial"]


def test_an_answer_that_is_stopped_before_it_begins_is_not_kept(
    typed: Run, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    class Mute(Actor):
        def stream(self, request: Request) -> Iterator[Event]:
            raise KeyboardInterrupt

    monkeypatch.setattr(stack, "generator_for", lambda settings: Mute())
    ran, _ = typed("a", EOFError())
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith("stopped; nothing was written\n\n")
    assert not folder.exists()


def test_a_second_ctrl_c_at_the_prompt_leaves(typed: Run, actor: Run, folder: Path) -> None:
    actor("1", KeyboardInterrupt())
    ran, _ = typed("a", KeyboardInterrupt(), "b", KeyboardInterrupt())
    assert ran.code == 130
    assert "Ctrl-C again or Ctrl-D leaves\n" in ran.err
    assert ran.err.endswith(f"interrupted; the conversation is kept as {newest(folder).stem}\n")
    ran, _ = typed(KeyboardInterrupt(), KeyboardInterrupt())
    assert ran.err.endswith("interrupted; nothing was said\n")


def test_lines_go_on_under_a_smaller_prompt(typed: Run, actor: Run) -> None:
    actor("1", "2")
    ran, prompts = typed("one\\", "two", '"""', "three", '"""', '"""', EOFError(), EOFError())
    assert prompts == ["> ", ". ", "> ", ". ", ". ", "> ", ". ", "> "]
    assert 'error: a block that """ opened has no end\n' in ran.err


def test_when_answers_go_to_a_file_the_prompt_does_not(typed: Run, actor: Run) -> None:
    actor("1")
    ran, prompts = typed("a", EOFError(), is_stdout_terminal=False)
    assert (ran.out, prompts) == ("1\n", ["", ""])
    assert "> " in ran.err


def test_a_line_that_is_no_text_is_told(typed: Run, actor: Run) -> None:
    actor()
    ran, _ = typed(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), EOFError())
    assert "error: that line is not UTF-8 text\n" in ran.err


def test_a_model_cannot_rule_the_terminal(typed: Run, actor: Run) -> None:
    actor("red \x1b[31m\r\u202e\n")
    ran, _ = typed("a", EOFError())
    assert ran.out == "red \\x1b[31m\\r\\u202e\n\n"


def test_ctrl_c_on_a_real_terminal_stops_the_answer_then_leaves(home: Path) -> None:
    released = threading.Event()
    with serve(holding(released), answers("Hello.")) as server:
        with Terminal("chat", "--remote", server.url) as terminal:
            terminal.wait_for("> ")
            terminal.type("Tell a story.\n")
            terminal.wait_for("Once \\x1b[31mupon")
            terminal.type("\x03")
            terminal.wait_for("stopped; what was written is kept")
            terminal.wait_for("> ")
            terminal.type("half a line\x03")
            terminal.wait_for("interrupted; the conversation is kept as ")
            assert terminal.wait_for_end() == 130
        with Terminal("chat", "--remote", server.url, "--continue") as terminal:
            terminal.wait_for("> ")
            terminal.type("half a line\x03")
            terminal.wait_for("Ctrl-C again or Ctrl-D leaves")
            terminal.wait_for("> ")
            terminal.type("\x1b[A")  # the line of the chat before
            terminal.wait_for("Tell a story.")
            terminal.type(" Now.\n")
            terminal.wait_for("Hello.")
            terminal.wait_for("> ")
            terminal.type("\x04")
            assert terminal.wait_for_end() == 0
        released.set()
    assert "\x1b[31m" not in terminal.text
    first, second = turns_of(newest(home / "conversations"))
    assert (first.answer, first.reason) == ("Once \x1b[31mupon", "cancelled")
    assert (second.question, second.answer) == ("Tell a story. Now.", "Hello.")
    history = home / "chat_history"
    assert history.read_text().splitlines() == ["Tell a story.", "Tell a story. Now."]
    assert history.stat().st_mode & 0o077 == 0


def test_a_home_that_cannot_be_written_still_lets_one_talk(typed: Run, actor: Run, home: Path) -> None:
    home.touch()
    actor("1")
    ran, _ = typed("a", EOFError())
    assert (ran.code, ran.out) == (0, "1\n")


@pytest.fixture
def folder(home: Path) -> Path:
    return home / "conversations"


@pytest.mark.model
def test_the_real_model_goes_on_after_ctrl_c(
    typed: Run, real_model: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces: list[str] = []

    def shown_until_the_third(text: str) -> str:
        pieces.append(text)
        if len(pieces) == 3:
            raise KeyboardInterrupt
        return text

    monkeypatch.setattr("armillary.cli.speaker.shown", shown_until_the_third)
    arguments = ("--model", real_model, "--max-tokens", "4", "--context-tokens", "70")
    ran, _ = typed("Count to ten.", "And again.", "/tokens", EOFError(), arguments=arguments)
    assert ran.code == 0
    assert "the next prompt has about" not in ran.err
    first, second = turns_of(newest(folder))
    assert (first.reason, first.answer, first.usage.completion_tokens) == ("cancelled", "".join(pieces[:3]), 3)
    assert (second.reason, second.usage.completion_tokens) == ("length", 4)
    assert second.usage.prompt_tokens > first.usage.prompt_tokens > 0
