"""Pieces of which all sections of a report are made: tables, lists of facts, statuses. Knows no section."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.core.verdicts import Check, Counterexample, Verdict
from armillary.reason.markup import NOTHING, Markup, join, tag
from armillary.reason.report_story import Tried

MAX_CELL_CHARS = 600
CHECK_HEADS = ("check", "result", "expectation", "inputs", "level", "origin")
TONES = {"PROVED": "good", "TESTED": "good", "EXAMPLES_PASS": "good", "REFUTED": "bad"}


def table(name: str, heads: Sequence[str], rows: Sequence[Sequence[Markup | str]]) -> Markup:
    """A table in a box that scrolls sideways by keyboard too; on a narrow page each row becomes a list.

    Args:
        name: what the table shows, for those who cannot see it.
        heads: names of the columns, which the cells carry too.
        rows: one cell per column; an empty cell takes no room on a narrow page.
    """
    head = tag("tr", *(tag("th", title, scope="col") for title in heads))
    body = (tag("tr", *(_cell(title, cell) for title, cell in zip(heads, row, strict=True))) for row in rows)
    content = tag("table", tag("thead", head), tag("tbody", *body))
    return tag("div", content, class_="wide", role="region", aria_label=name, tabindex="0")


def _cell(title: str, cell: Markup | str) -> Markup:
    # One child, since the narrow page lays the name and the content side by side.
    return tag("td", tag("div", cell), data_name=title) if cell not in ("", NOTHING) else tag("td", class_="empty")


def facts(rows: Sequence[tuple[str, Markup | str]]) -> Markup:
    """Names and values beside each other."""
    return tag("dl", *(join(tag("dt", name), tag("dd", value)) for name, value in rows))


def counterexample(found: Counterexample | None) -> Markup:
    """The call that went wrong, or nothing."""
    if found is None:
        return NOTHING
    cells = [("wrong on", found.call), ("expected", found.expected), ("got", found.actual)]
    rows: list[tuple[str, Markup | str]] = [(name, short_code(value)) for name, value in cells]
    return facts([*rows, ("breaks", found.check_id)])


def checks_table(verdict: Verdict) -> Markup:
    """Every check: who wrote the expectation, on how many inputs it was tried, and what it says."""
    if not verdict.checks:
        return NOTHING
    return table("checks", CHECK_HEADS, [_check_row(check) for check in verdict.checks])


def _check_row(check: Check) -> tuple[Markup | str, ...]:
    passed = tag("span", "passed" if check.passed else "FAILED", class_=f"badge {'good' if check.passed else 'bad'}")
    text = short_code(check.text) if check.text else NOTHING
    return check.id, passed, text, str(check.num_inputs), check.level, check.origin


def status_of(attempt: Tried) -> Markup:
    """The verdict's status, or that there is none."""
    return badge(attempt.verdict.status.value if attempt.verdict else "never judged")


def badge(status: str) -> Markup:
    """A status, in a colour that says the same once more."""
    return tag("span", status, class_=f"badge {tone(status)}")


def tone(status: str) -> str:
    """Class of the colour of a status."""
    return TONES.get(status, "open")


def link(attempt: Tried) -> Markup:
    """An attempt's name, which leads to all that is known of it."""
    return tag("a", attempt.id, href=f"#attempt-{attempt.number}")


def short_code(value: str) -> Markup:
    """A line of source, shortened."""
    return tag("code", shorten(value))


def counted(count: int, noun: str) -> str:
    """A count with its noun, which takes an s unless it is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shorten(value: str) -> str:
    """At most ``MAX_CELL_CHARS`` characters, and how many are left out."""
    num_cut = len(value) - MAX_CELL_CHARS
    return value if num_cut <= 0 else f"{value[:MAX_CELL_CHARS]} [{num_cut} more characters left out]"
