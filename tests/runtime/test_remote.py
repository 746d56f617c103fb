"""A remote server as Generator: the protocol, its failures, and servers that mean harm."""

from __future__ import annotations

import json
import socket
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from fake_server import FakeServer, Reply, answers, chunk, refuses, send, serve, start, streams, usage

from armillary.core.errors import ExitCode, RemoteAuthError, RemoteError
from armillary.core.messages import Event, Finished, Message, Request, Sampling, Token, Usage
from armillary.runtime.remote import MAX_LINE_BYTES, RemoteGenerator, RemoteLimits

KEY = "sk-very-secret-0123456789"
ASK = Request((Message("system", "Be brief."), Message("user", "Grüße 🙂")), Sampling(seed=5, max_tokens=9))


def generator(server: FakeServer, **more: Any) -> RemoteGenerator:
    return RemoteGenerator(server.url, "coder", key=KEY, **more)


def run(*replies: Reply, request: Request = ASK, **more: Any) -> list[Event]:
    with serve(*replies) as server:
        return list(generator(server, **more).stream(request))


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


def error_of(events: list[Event]) -> str:
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.reason == "error"
    return last.error


def test_an_answer_arrives_piece_by_piece_and_ends_with_its_bill() -> None:
    events = run(streams(chunk("def "), chunk("f"), chunk(reason="stop"), usage(12, 3)))
    assert events == [Token(0, "def "), Token(0, "f"), Finished(0, "stop", Usage(12, 3))]


def test_the_request_carries_messages_sampling_and_key() -> None:
    with serve(answers("x")) as server:
        list(generator(server).stream(ASK))
    (body,) = server.bodies
    assert body["model"] == "coder"
    assert body["messages"][1] == {"role": "user", "content": "Grüße 🙂"}
    assert (body["temperature"], body["top_p"], body["max_tokens"], body["seed"]) == (0.0, 1.0, 9, 5)
    assert body["stream"] is True
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_options_that_some_servers_refuse_are_sent_only_when_they_matter() -> None:
    special = Sampling(top_k=3, min_p=0.1, repetition_penalty=1.2, stop=("END",), num_logprobs=2)
    with serve(answers("x")) as server:
        list(generator(server).stream(ASK))
        list(generator(server).stream(Request(ASK.messages, special)))
    names = {"top_k", "min_p", "repetition_penalty", "stop", "logprobs", "top_logprobs"}
    assert names & set(server.bodies[0]) == set()
    assert names <= set(server.bodies[1])


def test_half_a_surrogate_pair_from_a_server_becomes_a_character_that_can_be_written() -> None:
    text = text_of(run(streams(chunk("a\ud800b"), chunk(reason="stop"))))
    assert (text[0], text[-1], set(text[1:-1])) == ("a", "b", {"\ufffd"})


MANY_STOPS = ("one", "two", "three", "four", "five")


def asking(*stop: str) -> Request:
    return Request(ASK.messages, Sampling(max_tokens=9, stop=stop))


def test_a_server_is_sent_no_more_stop_strings_than_it_takes() -> None:
    with serve(answers("x")) as server:
        list(generator(server).stream(asking(*MANY_STOPS)))
    assert server.bodies[0]["stop"] == list(MANY_STOPS[:4])


@pytest.mark.parametrize("pieces", [("1 five 2",), ("1 fi", "ve 2"), ("1 ", "f", "i", "v", "e", " 2")])
def test_every_stop_string_ends_the_text_however_it_was_cut(pieces: tuple[str, ...]) -> None:
    events = run(streams(*map(chunk, pieces), chunk(reason="length")), request=asking(*MANY_STOPS))
    last = events[-1]
    assert isinstance(last, Finished)
    assert (text_of(events), last.reason) == ("1 ", "stop")


def test_what_only_began_like_a_stop_string_is_shown_at_the_end() -> None:
    assert text_of(run(streams(chunk("1 fi"), chunk(reason="stop")), request=asking("five"))) == "1 fi"
    assert text_of(run(streams(chunk("1 fi"), is_done=False), request=asking("five"))) == "1 fi"


def test_a_stop_string_among_tokens_of_one_piece_drops_those_after_it() -> None:
    tokens = [{"token": token, "logprob": -1.0} for token in ("a", "END", "b")]
    event = chunk("aENDb", choice={"logprobs": {"content": tokens}})
    events = run(streams(event), request=asking("END"))
    assert events == [Token(0, "a", logprob=-1.0), Token(0, "", logprob=-1.0), Finished(0, "stop", Usage(0, 2))]


def test_a_stop_string_closes_the_connection_to_a_server_that_goes_on() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        while True:
            send(handler, chunk("five"))
            time.sleep(0.005)

    with serve(reply) as server:
        assert text_of(list(generator(server).stream(asking("five")))) == ""
        assert server.was_cut.wait(5)


def test_without_a_key_no_authorization_is_sent() -> None:
    with serve(answers("x")) as server:
        list(RemoteGenerator(server.url, "coder").stream(ASK))
    assert "Authorization" not in server.headers[0]


def test_a_message_with_a_broken_surrogate_is_still_sent() -> None:
    with serve(answers("x")) as server:
        list(generator(server).stream(Request((Message("user", "a\ud800b"),))))
    assert server.bodies[0]["messages"][0]["content"] == "a\ud800b"


def test_each_candidate_is_one_request_with_its_own_seed() -> None:
    with serve(answers("a"), answers("b"), answers("c")) as server:
        events = list(generator(server).stream(Request(ASK.messages, ASK.sampling, num_candidates=3)))
    assert [body["seed"] for body in server.bodies] == [5, 6, 7]
    assert [event.candidate for event in events if isinstance(event, Finished)] == [0, 1, 2]
    assert text_of(events) == "abc"


def test_every_request_is_billed_because_the_prompt_was_sent_again() -> None:
    events = run(answers("a"), request=Request(ASK.messages, num_candidates=2))
    assert [event.usage.prompt_tokens for event in events if isinstance(event, Finished)] == [10, 10]


def test_the_model_is_the_name_that_was_asked_for() -> None:
    model = RemoteGenerator("http://localhost/v1", "coder").model
    assert (model.name, model.sha256) == ("coder", "")


@pytest.mark.parametrize(("theirs", "ours"), [("length", "length"), ("max_tokens", "length"), ("tool_calls", "stop")])
def test_finish_reasons_are_translated(theirs: str, ours: str) -> None:
    last = run(answers("x", reason=theirs))[-1]
    assert isinstance(last, Finished)
    assert last.reason == ours


def test_a_content_filter_is_an_error_that_says_so() -> None:
    assert "content_filter" in error_of(run(answers("x", reason="content_filter")))


def test_a_done_mark_without_a_reason_is_a_stop() -> None:
    assert run(streams(chunk("x")))[-1] == Finished(0, "stop", Usage(0, 1))


def test_a_reason_without_a_done_mark_is_an_end_too() -> None:
    assert run(streams(chunk("x"), chunk(reason="length"), is_done=False))[-1] == Finished(0, "length", Usage(0, 1))


def test_without_a_bill_every_piece_counts_as_one_token() -> None:
    assert run(streams(chunk("a"), chunk("b"), chunk(reason="stop")))[-1] == Finished(0, "stop", Usage(0, 2))


@pytest.mark.parametrize("number", ["many", -4, True, 10**9 + 1, 10**4000])
def test_a_senseless_bill_counts_as_none(number: object) -> None:
    bill = {"choices": [], "usage": {"prompt_tokens": number, "completion_tokens": number}}
    assert run(streams(chunk("a"), chunk("b"), bill))[-1] == Finished(0, "stop", Usage(0, 2))


def logprobs(*pairs: tuple[str, Any]) -> dict[str, Any]:
    return {"logprobs": {"content": [{"token": token, "logprob": value} for token, value in pairs]}}


def test_logprobs_split_a_piece_into_its_tokens() -> None:
    events = run(streams(chunk("ab", choice=logprobs(("a", -0.5), ("b", -1)))))
    assert events[:2] == [Token(0, "a", logprob=-0.5), Token(0, "b", logprob=-1.0)]


@pytest.mark.parametrize(
    "bad", [logprobs(("zz", -0.5)), {"logprobs": {"content": [1]}}, {"logprobs": {"content": "x"}}]
)
def test_logprobs_that_do_not_spell_the_text_are_left_out(bad: dict[str, Any]) -> None:
    assert run(streams(chunk("ab", choice=bad)))[0] == Token(0, "ab")


@pytest.mark.parametrize("value", [None, "low", float("nan"), float("-inf")])
def test_a_logprob_that_is_no_finite_number_is_unknown(value: object) -> None:
    assert run(streams(chunk("ab", choice=logprobs(("ab", value)))))[0] == Token(0, "ab", logprob=None)


def test_comments_other_fields_and_line_ends_of_either_kind_are_read_over() -> None:
    raw = b": ping\r\nevent: message\r\nid: 1\r\n\r\ndata:" + json.dumps(chunk("ok")).encode() + b"\r\n\r\n"
    assert text_of(run(streams(raw))) == "ok"


def test_unicode_line_separators_inside_json_do_not_split_an_event() -> None:
    text = "a\u2028b\u0085c"
    raw = json.dumps(chunk(text), ensure_ascii=False).encode()
    assert text_of(run(streams(b"data: " + raw + b"\n\n"))) == text


def test_a_last_line_without_line_end_counts() -> None:
    raw = b"data: " + json.dumps(chunk("x", reason="stop")).encode()
    assert run(streams(raw, is_done=False)) == [Token(0, "x"), Finished(0, "stop", Usage(0, 1))]


def test_empty_pieces_and_missing_deltas_are_no_tokens() -> None:
    events = run(streams(chunk(""), {"choices": [{"finish_reason": None}]}, {"choices": [{"delta": None}]}, chunk("x")))
    assert [event for event in events if isinstance(event, Token)] == [Token(0, "x")]


def test_half_a_surrogate_pair_in_an_error_becomes_a_character_that_can_be_written() -> None:
    assert error_of(run(streams({"error": {"message": "a\ud800b"}}))).endswith("a?b")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_an_auth_error(status: int) -> None:
    with pytest.raises(RemoteAuthError, match=f"{status}.*no such key") as caught:
        run(refuses(status, b'{"error": {"message": "no such key"}}'))
    assert caught.value.exit_code == ExitCode.AUTH


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"error": {"message": "context too long", "type": "x"}}', "context too long"),
        (b'{"error": "plain text"}', "plain text"),
        (b'{"message": "bare message"}', "bare message"),
        (b'{"detail": "fastapi says"}', "fastapi says"),
        (b'["odd"]', "odd"),
        (b"<h1>Bad\n gateway</h1>", "<h1>Bad gateway</h1>"),
        (b"", "Bad Request"),
        (b"[" * 100_000, "[[["),
        (b"x" * 200_000, "xxx"),
    ],
)
def test_a_refusal_names_status_and_the_servers_words_on_one_short_line(body: bytes, shown: str) -> None:
    with pytest.raises(RemoteError) as caught:
        run(refuses(400, body))
    assert "400" in str(caught.value)
    assert shown in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_an_error_body_that_breaks_off_still_names_the_status() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(500)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"{")

    with pytest.raises(RemoteError, match="500: Internal Server Error"):
        run(reply)


def test_a_redirect_is_not_followed_so_the_key_goes_nowhere_else() -> None:
    with serve(answers("stolen")) as thief, pytest.raises(RemoteError, match="307"):
        run(refuses(307, Location=thief.url))
    assert thief.bodies == []


def test_a_server_that_echoes_the_key_does_not_get_it_into_our_errors() -> None:
    with pytest.raises(RemoteAuthError) as caught:
        run(refuses(401, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode()))
    assert KEY not in str(caught.value)
    assert KEY not in error_of(run(streams({"error": {"message": KEY}})))
    assert KEY not in error_of(run(answers("x", reason=KEY)))


@pytest.mark.parametrize("key", ["sk-\n", "schlüssel"])
def test_a_key_that_no_header_may_carry_is_refused_at_once(key: str) -> None:
    with pytest.raises(RemoteAuthError, match="header") as caught:
        RemoteGenerator("http://localhost/v1", "coder", key=key)
    assert key not in str(caught.value)


def test_a_refused_connection_names_the_address_but_no_password() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    remote = RemoteGenerator(f"http://user:hunter2@127.0.0.1:{port}/v1", "coder")
    with pytest.raises(RemoteError, match=f"cannot reach http://127.0.0.1:{port}/v1") as caught:
        list(remote.stream(ASK))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["ftp://host/v1", "http://host:port/v1", "nonsense"])
def test_an_address_that_is_none_is_one_clear_error(url: str) -> None:
    with pytest.raises(RemoteError, match="cannot reach"):
        list(RemoteGenerator(url, "coder").stream(ASK))


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_with_growing_patience(status: int) -> None:
    waits: list[float] = []
    events = run(refuses(status), refuses(status), answers("x"), sleep=waits.append)
    assert text_of(events) == "x"
    assert waits == [0.5, 1.0]


def test_retry_after_is_honoured_within_bounds() -> None:
    waits: list[float] = []
    dates = refuses(429, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT")
    run(refuses(429, Retry_After="7"), refuses(429, Retry_After="86400"), dates, answers("x"), sleep=waits.append)
    assert waits == [7.0, 30.0, 2.0]


def test_a_server_that_stays_busy_is_given_up_on() -> None:
    waits: list[float] = []
    with pytest.raises(RemoteError, match="429: come back later"):
        run(refuses(429, b'{"error": {"message": "come back later"}}'), sleep=waits.append)
    assert len(waits) == RemoteLimits().num_retries


@pytest.mark.parametrize(
    "event",
    [
        b"data: {broken\n\n",
        b"data: [1]\n\n",
        b"data: " + b"1" * 5000 + b"\n\n",
        b"data: " + b"[" * 100_000 + b"\n\n",
        b"data: \xff\n\n",
        b'data: {"choices": [3]}\n\n',
        b'data: {"id": 1}\n\n',
        b'data: {"choices": [{"delta": {"content": 7}}]}\n\n',
        b'data: {"choices": [{"delta": {}, "finish_reason": 7}]}\n\n',
    ],
)
def test_what_is_no_event_ends_the_candidate_as_an_error_and_keeps_its_text(event: bytes) -> None:
    events = run(streams(chunk("kept"), event))
    assert error_of(events)
    assert text_of(events) == "kept"


@pytest.mark.parametrize("page", [b"<html>hello</html>", b'{"choices": [{"message": {"content": "x"}}]}'])
def test_an_answer_that_is_no_stream_is_an_error(page: bytes) -> None:
    assert "stream of events" in error_of(run(streams(page, is_done=False)))


def test_an_empty_answer_is_an_error() -> None:
    assert "cut" in error_of(run(streams(is_done=False)))


def test_a_stream_that_ends_early_is_an_error_that_keeps_its_text() -> None:
    events = run(streams(chunk("half"), is_done=False))
    assert "cut" in error_of(events)
    assert text_of(events) == "half"


def test_a_connection_that_breaks_is_an_error() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        send(handler, chunk("half"))

    events = run(reply)
    assert "connection broke" in error_of(events)
    assert text_of(events) == "half"


def test_one_broken_candidate_does_not_stop_the_others() -> None:
    events = run(streams(is_done=False), answers("b"), request=Request(ASK.messages, num_candidates=2))
    assert [event.reason for event in events if isinstance(event, Finished)] == ["error", "stop"]


def test_a_line_without_end_is_cut_off() -> None:
    assert "longer than" in error_of(run(streams(b"data: " + b"x" * (MAX_LINE_BYTES + 100_000))))


def test_a_server_that_drips_forever_is_left() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        while True:
            send(handler, b": ping\n")
            time.sleep(0.01)

    with serve(reply) as server:
        events = list(generator(server, limits=RemoteLimits(answer_s=0.1)).stream(ASK))
        assert "too long" in error_of(events)
        assert server.was_cut.wait(5)


def test_a_server_that_falls_silent_is_left() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        send(handler, chunk("x"))
        time.sleep(0.5)

    assert "connection broke" in error_of(run(reply, limits=RemoteLimits(silence_s=0.1)))


def test_closing_the_iterator_closes_the_connection() -> None:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        while True:
            send(handler, chunk("x"))
            time.sleep(0.005)

    with serve(reply) as server:
        with closing(generator(server).stream(ASK)) as events:  # type: ignore[type-var]  # a generator can be closed
            next(events)
        assert server.was_cut.wait(5)


def hangs(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(1)


def falls_silent(handler: BaseHTTPRequestHandler) -> None:
    start(handler)
    send(handler, chunk("x"))
    time.sleep(1)


def drips(handler: BaseHTTPRequestHandler) -> None:
    start(handler)
    while True:
        send(handler, b": ping\n")
        time.sleep(0.01)


def drips_a_refusal(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(503)
    handler.send_header("Retry-After", "999999")
    handler.end_headers()
    while True:
        handler.wfile.write(b".")
        handler.wfile.flush()
        time.sleep(0.01)


@pytest.mark.parametrize("reply", [hangs, falls_silent, drips, refuses(503, Retry_After="999999")])
def test_what_is_not_finished_in_the_time_of_the_request_is_cancelled(reply: Reply) -> None:
    begin_s = time.monotonic()
    events = run(reply, request=Request(ASK.messages, num_candidates=2, max_seconds=0.2))
    assert [event.reason for event in events if isinstance(event, Finished)] == ["cancelled", "cancelled"]
    assert 0.2 <= time.monotonic() - begin_s < 1.5


def test_no_server_is_asked_when_no_time_is_left() -> None:
    with serve(answers("x")) as server:
        events = list(generator(server).stream(Request(ASK.messages, max_seconds=0.0)))
    assert (events, server.bodies) == ([Finished(0, "cancelled", Usage())], [])


def test_a_refusal_that_drips_is_read_no_longer_than_the_request_may_take() -> None:
    with pytest.raises(RemoteError, match="503"):
        run(drips_a_refusal, request=Request(ASK.messages, max_seconds=0.1), limits=RemoteLimits(num_retries=0))


def test_an_answer_in_time_is_not_cancelled() -> None:
    events = run(answers("x"), request=Request(ASK.messages, max_seconds=30.0))
    assert events[-1] == Finished(0, "stop", Usage(10, 5))
