"""Show why one attempt was chosen among those that were judged, choice by choice. Judges nothing and reads no file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.core.trace import TraceEvent
from armillary.reason.markup import Markup, join, tag
from armillary.reason.report_attempts import shorten, wide
from armillary.reason.report_story import Story
from armillary.reason.report_votes import Vote, votes_of

VOTE_HEADS = ("call", "must give, says the model", "said so often", "passed by")


def choices_section(story: Story) -> Markup:
    """Every choice, the model's own tests and every revision, in order."""
    if not story.decisions:
        return tag("p", "Nothing was chosen.")
    return tag("ol", *(tag("li", _decision(story.task.entry_point, event)) for event in story.decisions))


def _decision(function: str, event: TraceEvent) -> Markup:
    body: dict[str, Any] = event.body
    if event.kind == "votes":
        return _votes(votes_of(function, body))
    if event.kind == "selection":
        return _selection(body)
    word = "takes the place of" if body["accepted"] else "does not take the place of"
    return join(tag("strong", f"{body['revision']} {word} {body['incumbent']}: "), body["why"])


def _selection(body: dict[str, Any]) -> Markup:
    share = f"; its group has {body['share']:.0%} of the weight" if "share" in body else ""
    about = tag("p", "Groups that were held to be alike, biggest first:")
    groups = tag("ol", *(tag("li", _cluster(names)) for names in body["clusters"]))
    return join(tag("strong", f"{body['chosen']} chosen: "), f"{body['why']}{share}", about, groups)


def _cluster(names: Sequence[str]) -> str:
    return f"{len(names)} attempt{'' if len(names) == 1 else 's'}: {shorten(', '.join(names))}"


def _votes(votes: Sequence[Vote]) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in VOTE_HEADS))
    table = tag("table", tag("thead", head), tag("tbody", *map(_vote_row, votes)))
    about = tag("strong", "The model was asked what is right on inputs on which the groups differ:")
    return join(about, wide(table, "the model's own tests"))


def _vote_row(vote: Vote) -> Markup:
    return tag(
        "tr",
        tag("td", tag("code", shorten(vote.call))),
        tag("td", tag("code", shorten(vote.wanted))),
        tag("td", str(vote.count)),
        tag("td", shorten(", ".join(vote.keepers)) or "none"),
    )
