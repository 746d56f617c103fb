"""A remote server that talks without end is cut short, and the search goes on."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from fake_server import Reply, answers, chunk, send, serve, start

from armillary.core.messages import Event, Finished, Message, Request, Sampling, Token, Usage
from armillary.core.tasks import Budget, TaskSpec
from armillary.reason.propose import max_answer_chars
from armillary.runtime import stack
from armillary.runtime.remote import RemoteGenerator

ASK = Request((Message("user", "Hello."),), Sampling(max_tokens=9))


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


def floods(piece: str, **choice: Any) -> Reply:
    """Never ends, whatever it was asked for."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        while True:
            send(handler, chunk(piece, choice=choice))

    return reply


@pytest.mark.parametrize(
    "reply",
    [
        floods("x"),
        floods("word " * 20_000),
        floods("x" * 900_000),
        floods("x", logprobs={"content": [{"token": "", "logprob": -1.0}, {"token": "x", "logprob": -1.0}]}),
    ],
    ids=["pieces of a letter", "long pieces", "the longest line", "tokens without text"],
)
def test_an_answer_longer_than_its_tokens_can_be_is_cut_and_the_next_one_asked_for(reply: Reply) -> None:
    most = max_answer_chars(ASK.sampling.max_tokens)
    with serve(reply, answers("b")) as server:
        events = list(
            RemoteGenerator(server.url, "coder").stream(Request(ASK.messages, ASK.sampling, num_candidates=2))
        )
        assert server.was_cut.wait(5)
    assert [event.reason for event in events if isinstance(event, Finished)] == ["length", "stop"]
    assert len(text_of(events)) <= most + 1
    assert len(events) <= most + 5


def test_a_server_that_floods_does_not_outlast_the_time_of_the_search(tmp_path: Path) -> None:
    task = TaskSpec("Double it.", "double", budget=Budget(num_candidates=2, max_rounds=1, max_seconds=20.0))
    begin_s = time.monotonic()
    with serve(floods("y = 1\n" * 30_000)) as server:
        solution = stack.solve(task, model=RemoteGenerator(server.url, "coder"), trace_path=tmp_path / "trace.jsonl")
    assert all(len(attempt.code) < 20_000 for attempt in solution.attempts)
    assert time.monotonic() - begin_s < 20


def test_an_answer_as_long_as_its_tokens_allow_is_whole() -> None:
    text = "x" * max_answer_chars(ASK.sampling.max_tokens)
    with serve(answers(text)) as server:
        events = list(RemoteGenerator(server.url, "coder").stream(ASK))
    assert (text_of(events), events[-1]) == (text, Finished(0, "stop", Usage(10, 5)))
