"""A local HTTP server that plays one scripted reply per request; the protocol is real, the model is not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAX_STOP_STRINGS = 4
Reply = Callable[[BaseHTTPRequestHandler], None]


class FakeServer:
    """What the server was asked, and where it is."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.was_cut = threading.Event()


@contextmanager
def serve(*replies: Reply) -> Iterator[FakeServer]:
    """Serve the replies in order; the last one is repeated."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            fake.bodies.append(json.loads(self.rfile.read(length)))
            fake.headers.append(dict(self.headers))
            reply = replies[min(len(fake.bodies), len(replies)) - 1]
            if len(fake.bodies[-1].get("stop", [])) > MAX_STOP_STRINGS:
                reply = refuses(400, b'{"error": {"message": "stop: at most 4 strings"}}')
            try:
                reply(self)
                self.wfile.flush()
            except (BrokenPipeError, ConnectionResetError):
                fake.was_cut.set()
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake = FakeServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def chunk(text: str | None = None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    """One event of a completion's stream."""
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": reason} | more.pop("choice", {})
    return {"object": "chat.completion.chunk", "choices": [choice], **more}


def usage(prompt: int, completion: int) -> dict[str, Any]:
    """The bill at a stream's end."""
    return {"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def streams(*events: dict[str, Any] | str | bytes, is_done: bool = True) -> Reply:
    """Reply with server-sent events; dicts become ``data:`` lines, bytes go out as they are."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        start(handler)
        for event in events:
            send(handler, event)
        if is_done:
            send(handler, "[DONE]")

    return reply


def answers(text: str, reason: str = "stop") -> Reply:
    """Reply with one whole text and a bill of 10 and 5 tokens."""
    return streams(chunk(text), chunk(reason=reason), usage(10, 5))


def refuses(status: int, body: bytes = b"", **headers: str) -> Reply:
    """Reply with an error status."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def start(handler: BaseHTTPRequestHandler, content_type: str = "text/event-stream") -> None:
    """Send status 200 and the headers of a stream that ends with the connection."""
    handler.send_response(200)
    handler.send_header("Content-Type", content_type)
    handler.end_headers()


def send(handler: BaseHTTPRequestHandler, event: dict[str, Any] | str | bytes) -> None:
    """Send one event at once."""
    if isinstance(event, bytes):
        handler.wfile.write(event)
    else:
        payload = event if isinstance(event, str) else json.dumps(event)
        handler.wfile.write(f"data: {payload}\n\n".encode())
    handler.wfile.flush()
