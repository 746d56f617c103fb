"""Show a running solve on stderr: a table that moves on a terminal, plain lines anywhere else. Decides nothing."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from armillary.cli.board import Board
from armillary.cli.output import say
from armillary.core.messages import Token
from armillary.core.trace import TraceEvent
from armillary.core.verdicts import Level
from armillary.runtime.stack import Watcher
from armillary.verify.rendering import visible

if TYPE_CHECKING:
    from rich.table import Table

MAX_NOTE_CHARS = 160
REFRESHES_PER_S = 8
COLOURS = {"writing": "cyan", "testing": "yellow", "accepted": "green", "refuted": "red", "undecided": "magenta"}


class View(Watcher, Protocol):
    """A watcher that shows what it hears; enter it before, leave it after."""

    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None: ...


def open_view() -> View:
    """The table on a terminal, else plain lines."""
    return TableView() if sys.stderr.isatty() else LineView()


class LineView:
    """One line per verdict and decision."""

    def __init__(self) -> None:
        self.board = Board()

    def on_token(self, token: Token) -> None:
        """Count it; tokens make no line."""
        self.board.on_token(token)

    def on_level(self, level: Level) -> None:
        """Note it; levels make no line."""
        self.board.on_level(level)

    def on_event(self, event: TraceEvent) -> None:
        """Print a line if the event says something about a candidate."""
        self.board.on_event(event)
        if event.kind == "header":
            say(f"model {self.board.model}")
        elif event.kind == "verdict":
            row = self.board.rows[str(event.body["attempt"])]
            say(f"{row.title}: {row.state}, {shorten(row.note)}")
        elif event.kind in ("selection", "revision"):
            say(f"{event.kind}: {event.body['why']}")

    def __enter__(self) -> LineView:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Nothing is left open."""


class TableView:
    """A table that is drawn anew a few times a second and stays when the solve is over."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self.board = Board()
        self._live = Live(
            console=Console(stderr=True), get_renderable=lambda: draw(self.board), refresh_per_second=REFRESHES_PER_S
        )

    def on_token(self, token: Token) -> None:
        """Count it; the next refresh shows it."""
        self.board.on_token(token)

    def on_level(self, level: Level) -> None:
        """Note it; the next refresh shows it."""
        self.board.on_level(level)

    def on_event(self, event: TraceEvent) -> None:
        """Take it in; the next refresh shows it."""
        self.board.on_event(event)

    def __enter__(self) -> TableView:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._live.stop()


def draw(board: Board) -> Table:
    """The board as a table."""
    from rich.table import Table
    from rich.text import Text

    # A Text takes what a model or a file wrote literally; a string would be read as markup.
    table = Table(title=Text(visible(board.headline)), title_justify="left", box=None, pad_edge=False)
    for name in ("", "candidate", "state", "tokens"):
        table.add_column(name)
    table.add_column("evidence", overflow="fold")
    # A copy, since the refreshing thread draws while the solving thread adds rows.
    for row in list(board.rows.values()):
        table.add_row(
            "->" if row.is_chosen else "",
            Text(visible(row.title)),
            Text(row.state, COLOURS[row.state]),
            str(row.num_tokens),
            Text(visible(shorten(row.note))),
        )
    return table


def shorten(text: str) -> str:
    """At most ``MAX_NOTE_CHARS`` characters."""
    return text if len(text) <= MAX_NOTE_CHARS else f"{text[: MAX_NOTE_CHARS - 3]}..."
