"""Reports held to every rule of theirs, and what can be read on them."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from armillary.reason.report import write_report

VOID = {"meta"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "div", "p", "a"),
    *("h1", "h2", "h3", "h4", "ul", "ol", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td"),
    *("span", "strong", "pre", "code", "del", "ins", "mark", "details", "summary", "svg", "rect"),
}


class Checker(HTMLParser):
    """Reads a page as a browser would, and complains about whatever a report must not hold."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.headings: list[int] = []
        self.policy = ""
        self.style = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        assert tag in ALLOWED, tag
        assert len(values) == len(attrs), "an attribute stands twice"
        assert not [name for name in values if name.startswith("on") or name in ("src", "style", "action")], attrs
        if tag not in VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"] or "")
        if "href" in values:
            target = values["href"] or ""
            assert target.startswith("#"), target
            self.targets.append(target[1:])
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data


def text_of(page: str) -> str:
    """All that can be read on the page, without its markup."""
    return "".join(ElementTree.fromstring(page).itertext())


def report(trace: Path) -> str:
    """The report's source, held to every rule."""
    path = trace.with_suffix(".html")
    write_report(trace, path)
    page = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    assert len(set(checker.ids)) == len(checker.ids)
    assert set(checker.targets) <= set(checker.ids)
    assert checker.headings[0] == 1
    assert checker.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(checker.headings, checker.headings[1:], strict=False))
    digest = base64.b64encode(hashlib.sha256(checker.style.encode()).digest()).decode()
    assert "default-src 'none'; script-src 'none'" in checker.policy
    assert f"style-src 'sha256-{digest}'" in checker.policy
    assert not re.search(r"[<>&]|url\(|@import", checker.style)
    ElementTree.fromstring(page)
    return page
