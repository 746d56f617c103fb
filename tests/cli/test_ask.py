"""One question, one answer."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary.cli import ask
from armillary.core.messages import Event, Finished, Message, ModelIdentity, Request, Token, Usage
from armillary.runtime import stack

Run = Callable[..., Any]


def test_the_answer_goes_to_stdout_and_its_cost_to_stderr(armillary: Run, scripted: Run) -> None:
    scripted("Forty two.")
    ran = armillary("ask", "What is it?")
    assert (ran.code, ran.out) == (0, "Forty two.\n")
    assert ran.err.startswith("scripted: 10 + 2 tokens, first after 0.0")


def test_options_reach_the_model(armillary: Run, scripted: Run) -> None:
    model = scripted("x")
    armillary("ask", "hi", "--system", "Be brief.", "--temperature", "0.5", "--seed", "7", "--max-tokens", "3")
    request = model.requests[0]
    assert request.messages == (Message("system", "Be brief."), Message("user", "hi"))
    assert (request.sampling.temperature, request.sampling.seed, request.sampling.max_tokens) == (0.5, 7, 3)


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
        (KeyboardInterrupt(), 130, "interrupted; 1 tokens of the answer were written\n"),
    ],
)
def test_a_stream_that_stops_is_one_line(
    armillary: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException | None, code: int, line: str
) -> None:
    monkeypatch.setattr(stack, "generator_for", lambda settings: Broken(error))
    ran = armillary("ask", "hi")
    assert (ran.code, ran.err) == (code, line)


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("  ",), 2, "error: the question is empty\n"),
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
    (tmp_path / "broken.gguf").write_bytes(b"GGUF\x03")
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
