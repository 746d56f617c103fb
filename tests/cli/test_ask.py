"""One question, one answer, with its files and what came before."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_stage import holding, turns_of
from fake_server import serve
from terminal import Terminal

from armillary.cli import ask
from armillary.core.messages import Event, Finished, Message, ModelIdentity, Request, Sampling, Token, Usage
from armillary.core.settings import Settings
from armillary.runtime import stack
from armillary.runtime.conversation import newest, summaries

Run = Callable[..., Any]


def test_the_answer_goes_to_stdout_and_its_cost_to_stderr(armillary: Run, scripted: Run) -> None:
    scripted("Forty two.")
    ran = armillary("ask", "What is it?")
    assert (ran.code, ran.out) == (0, "Forty two.\n")
    assert ran.err.startswith("scripted: 10 + 2 tokens, first after 0.0")


def test_options_reach_the_model(armillary: Run, scripted: Run) -> None:
    model = scripted("x")
    armillary(
        "ask",
        "hi",
        "--system",
        "Be brief.",
        "--temperature",
        "0.5",
        "--seed",
        "7",
        "--top-p",
        "0.9",
        "--max-tokens",
        "3",
    )
    request = model.requests[0]
    assert request.messages == (Message("system", "Be brief."), Message("user", "hi"))
    assert request.sampling == Sampling(temperature=0.5, seed=7, top_p=0.9, max_tokens=3)


def test_a_dash_reads_the_question_from_stdin(armillary: Run, scripted: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    model = scripted("x")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe")))
    armillary("ask", "-")
    assert model.requests[0].messages == (Message("user", "from a pipe"),)


def test_json_holds_text_cost_and_the_real_model(armillary: Run, scripted: Run) -> None:
    scripted("Forty two.")
    ran = armillary("ask", "What is it?", "--json")
    assert ran.json["text"] == "Forty two."
    assert ran.json["completion_tokens"] == 2
    assert ran.json["model"] == {"name": "scripted", "sha256": "ab" * 32}
    assert ran.json["conversation"].endswith("-what-is-it")


def test_an_answer_that_was_cut_says_so(armillary: Run, scripted: Run) -> None:
    scripted("Forty", end=Finished(0, "length", Usage(1, 1)))
    assert "(cut at max tokens)" in armillary("ask", "hi").err


def test_an_empty_answer_prints_nothing(armillary: Run, scripted: Run) -> None:
    scripted("")
    assert armillary("ask", "hi").out == ""


def test_a_model_that_fails_is_one_line_after_what_it_said(armillary: Run, scripted: Run) -> None:
    scripted("Forty", end=Finished(0, "error", Usage(), "the connection broke"))
    ran = armillary("ask", "hi")
    assert (ran.code, ran.out) == (1, "Forty\n")
    assert ran.err == "error: the model stopped: the connection broke\n"


class Broken:
    """A model whose stream ends, or is interrupted, after one token."""

    model = ModelIdentity("broken")

    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    def stream(self, request: Request) -> Iterator[Event]:
        yield Token(0, "Forty")
        if self._error is not None:
            raise self._error


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (None, 1, "error: the model stopped: the stream ended early\n"),
        (KeyboardInterrupt(), 130, "interrupted; 1 tokens of the answer were written and are kept in "),
    ],
)
def test_a_stream_that_stops_is_one_line(
    armillary: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException | None, code: int, line: str
) -> None:
    monkeypatch.setattr(stack, "generator_for", lambda settings: Broken(error))
    ran = armillary("ask", "hi")
    assert (ran.code, ran.out) == (code, "Forty\n")
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("  ",), 2, "error: the question is empty\n"),
        (("hi", "--top-p", "1.5"), 2, "error: Invalid value for '--top-p': "),
        (("hi", "--continue"), 3, "error: there is no conversation yet to go on with\n"),
        (("-", "--file", "-"), 2, "error: stdin cannot be both the question and a file\n"),
        (("hi", "--file", "-", "--file", "-"), 2, "error: stdin can be read only once\n"),
        (("hi", "--file", "nothing.py"), 3, "error: no file nothing.py (the question comes first, then "),
        (("hi", "--file", "broken.gguf"), 2, "error: broken.gguf is "),
        (("hi", "--file", "half.txt", "half.txt"), 2, "error: the files have 1200000 bytes together, at most 1000000 "),
        (("hi", "--max-tokens", "0"), 2, "error: Invalid value for '--max-tokens': "),
        (("hi", "--model", "smollm2-135"), 3, "error: no model is called 'smollm2-135' (did you mean smollm2-135m? "),
        (("hi", "--model", "smollm2-135m"), 3, "error: smollm2-135m is not on this machine yet (run armillary pull "),
        (("hi", "--model", "./nothing.gguf"), 3, "error: no model file at nothing.gguf\n"),
        (("hi", "--model", "."), 3, "error: . is a folder (name the .gguf file in it)\n"),
        (("hi", "--model", "broken.gguf"), 1, "error: broken.gguf: "),
        (("hi", "--remote", "http://127.0.0.1:9/v1"), 1, "error: cannot reach http://127.0.0.1:9/v1/chat/completions"),
    ],
)
def test_bad_input_is_one_line_and_its_exit_code(
    armillary: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, line: str
) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF\x03\0")
    (tmp_path / "half.txt").write_text("a" * 600_000)
    ran = armillary("ask", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1


@pytest.mark.model
def test_the_real_model_answers(armillary: Run, real_model: str) -> None:
    ran = armillary("ask", "--model", real_model, "--max-tokens", "8", "--json", "Say hello.")
    assert ran.code == 0
    assert ran.json["completion_tokens"] == 8
    assert ran.json["text"]
    assert ran.json["model"]["name"] == real_model


@pytest.mark.model
def test_a_question_longer_than_the_context_is_one_line(armillary: Run, real_model: str) -> None:
    ran = armillary("ask", "--model", real_model, "word " * 9000)
    assert ran.code == 2
    assert "the context holds 8192" in ran.err
    assert ran.err.count("\n") == 1


def test_options_are_one_frozen_object() -> None:
    assert ask.AskOptions(prompt="hi").max_tokens == 512


def test_escape_codes_of_an_answer_reach_a_pipe_but_no_terminal(
    armillary: Run, scripted: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted("red \x1b[31m", "red \x1b[31m")
    assert armillary("ask", "hi").out == "red \x1b[31m\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert armillary("ask", "hi").out == "red \\x1b[31m\n"


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Puts a real pipe with some bytes in the place of stdin."""
    opened: list[io.TextIOWrapper] = []

    def feed(content: bytes) -> None:
        read_end, write_end = os.pipe()
        os.write(write_end, content)
        os.close(write_end)
        opened.append(open(read_end, encoding="utf-8"))  # noqa: SIM115 - closed below
        monkeypatch.setattr("sys.stdin", opened[-1])

    yield feed
    for stream in opened:
        stream.close()


def asked(model: Any) -> str:
    """The last question as the model got it."""
    return model.requests[-1].messages[-1].content


def test_what_is_piped_in_goes_along_with_the_question(armillary: Run, scripted: Run, pipe: Run) -> None:
    model = scripted("x")
    pipe(b"line 1\nboom\n")
    assert armillary("ask", "Why?").code == 0
    assert asked(model) == "stdin:\n```\nline 1\nboom\n```\n\nWhy?"


def test_an_empty_pipe_changes_nothing(armillary: Run, scripted: Run, pipe: Run) -> None:
    model = scripted("x")
    pipe(b"\n")
    armillary("ask", "Why?")
    assert asked(model) == "Why?"


def test_without_a_prompt_the_pipe_is_the_question(armillary: Run, scripted: Run, pipe: Run) -> None:
    model = scripted("x")
    pipe(b"Why?")
    armillary("ask")
    assert asked(model) == "Why?"


def test_a_pipe_that_is_no_text_is_one_line(armillary: Run, scripted: Run, pipe: Run) -> None:
    pipe(b"\xff\xfe")
    ran = armillary("ask", "Why?")
    assert (ran.code, ran.err) == (2, "error: stdin is not UTF-8 text (byte 0)\n")


def test_a_pipe_that_stays_silent_says_what_it_waits_for(
    armillary: Run, scripted: Run, pipe: Run, monkeypatch: Any
) -> None:
    scripted("x")
    pipe(b"")
    monkeypatch.setattr("select.select", lambda *waits: ([], [], []))
    assert armillary("ask", "Why?").err.startswith("waiting for the end of stdin (add < /dev/null if ")


def test_without_a_question_on_a_terminal_it_says_how_to_ask(armillary: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    ran = armillary("ask")
    assert (ran.code, ran.err) == (2, 'error: the question is missing (armillary ask "...", or pipe it in)\n')


def test_files_stand_before_the_question_by_their_paths(armillary: Run, scripted: Run, tmp_path: Path) -> None:
    model = scripted("x")
    for name in ("a.py", "b.py", "c.md"):
        (tmp_path / name).write_text(f"# {name} ```\n")
    assert armillary("ask", "Why?", "--file", "c.md", "--file", "a.py", "b.py").code == 0
    assert asked(model) == "\n\n".join(
        [*(f"{name}:\n````\n# {name} ```\n````" for name in ("c.md", "a.py", "b.py")), "Why?"]
    )


def test_a_dash_as_file_is_what_is_piped_in(armillary: Run, scripted: Run, pipe: Run) -> None:
    model = scripted("x")
    pipe(b"boom\n")
    armillary("ask", "Why?", "--file", "-")
    assert asked(model) == "stdin:\n```\nboom\n```\n\nWhy?"


def test_continue_goes_on_with_the_last_conversation(armillary: Run, scripted: Run, home: Path) -> None:
    model = scripted("Forty two.", "Because.", "Bye.")
    armillary("ask", "What?", "--system", "Be brief.")
    armillary("ask", "Why?", "--continue")
    armillary("ask", "So?", "--continue", "--system", "")
    assert model.requests[1].messages == (
        Message("system", "Be brief."),
        Message("user", "What?"),
        Message("assistant", "Forty two."),
        Message("user", "Why?"),
    )
    assert [message.role for message in model.requests[2].messages] == ["user", "assistant"] * 2 + ["user"]
    assert [row.num_turns for row in summaries(home / "conversations")] == [3]


def test_nothing_is_kept_when_told_so(armillary: Run, scripted: Run, home: Path) -> None:
    model = scripted("a", "b", "c")
    assert armillary("ask", "1", "--no-save", "--json").json["conversation"] == ""
    assert not home.exists()
    armillary("ask", "2")
    armillary("ask", "3", "--no-save", "--continue")
    assert len(model.requests[-1].messages) == 3
    assert [row.num_turns for row in summaries(home / "conversations")] == [1]


def test_a_torn_line_is_told_when_the_conversation_goes_on(armillary: Run, scripted: Run, home: Path) -> None:
    scripted("a", "b", "c")
    armillary("ask", "1")
    armillary("ask", "2", "--continue")
    path = newest(home / "conversations")
    os.truncate(path, path.stat().st_size - 5)
    assert armillary("ask", "3", "--continue").err.startswith(f"the last line of {path.name} was cut off")
    assert [row.num_turns for row in summaries(home / "conversations")] == [2]


def test_an_answer_that_cannot_be_kept_is_printed_all_the_same(armillary: Run, scripted: Run, home: Path) -> None:
    scripted("Forty two.")
    home.mkdir()
    (home / "conversations").touch()
    ran = armillary("ask", "What?")
    assert (ran.code, ran.out) == (0, "Forty two.\n")
    assert ran.err.startswith("the conversation is not kept: cannot write the conversation ")


def test_turns_that_do_not_fit_are_left_out_with_a_note(armillary: Run, scripted: Run) -> None:
    model = scripted("a " * 90, "b " * 90, "c", "d")
    armillary("ask", "1")
    armillary("ask", "2", "--continue")
    ran = armillary("ask", "3", "--continue", "--context-tokens", "150", "--max-tokens", "20")
    assert len(model.requests[-1].messages) == 3
    assert ran.err.startswith(
        "the oldest 1 turn is left out of what the model reads: the conversation outgrew a context of 150 tokens, as"
    )
    ran = armillary("ask", "4", "--continue", "--context-tokens", "20", "--json")
    assert (ran.json["num_left_out"], len(model.requests[-1].messages)) == (3, 1)


def test_a_model_that_is_stopped_before_it_speaks_keeps_nothing(
    armillary: Run, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    class Mute:
        model = ModelIdentity("mute")

        def stream(self, request: Request) -> Iterator[Event]:
            raise KeyboardInterrupt

    monkeypatch.setattr(stack, "generator_for", lambda settings: Mute())
    ran = armillary("ask", "hi", "--json")
    assert (ran.code, ran.err) == (130, "interrupted; 0 tokens of the answer were written\n")
    assert ran.json["finish_reason"] == "cancelled"
    assert not home.exists()


def test_a_model_that_is_stopped_while_it_loads_is_one_line(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(settings: Settings) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "generator_for", load)
    ran = armillary("ask", "hi")
    assert (ran.code, ran.err) == (130, "interrupted; nothing was written\n")


def test_ctrl_c_on_a_terminal_keeps_the_part_of_the_answer(home: Path) -> None:
    released = threading.Event()
    with serve(holding(released)) as server, Terminal("ask", "--remote", server.url, "Tell a story.") as terminal:
        terminal.wait_for("Once \\x1b[31mupon")
        terminal.type("\x03")
        assert terminal.wait_for_end() == 130
        released.set()
    path = newest(home / "conversations")
    assert terminal.text.endswith(f"tokens of the answer were written and are kept in {path.stem}\n")
    assert [(turn.answer, turn.reason) for turn in turns_of(path)] == [("Once \x1b[31mupon", "cancelled")]
