"""Show why one attempt was chosen among those that were judged, choice by choice. Judges nothing and reads no file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armillary.core.trace import TraceEvent
from armillary.reason.markup import NOTHING, Markup, join, tag
from armillary.reason.report_parts import short_code, shorten, table
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
        return _votes(votes_of(function, body), len(body["inputs"]))
    if event.kind == "selection":
        return _selection(body)
    word = "takes the place of" if body["accepted"] else "does not take the place of"
    return join(tag("strong", f"{body['revision']} {word} {body['incumbent']}: "), body["why"])


def _selection(body: dict[str, Any]) -> Markup:
    share = f"; its group has {body['share']:.0%} of the weight" if "share" in body else ""
    clusters = body["clusters"]
    groups = [f"{len(names)} attempts: {shorten(', '.join(names))}" for names in clusters if len(names) > 1]
    loners = [", ".join(names) for names in clusters if len(names) == 1]
    if loners and len(clusters) > 1:
        groups.append(f"{len(loners)} like no other: {shorten(', '.join(loners))}")
    about = tag("p", "Attempts that were held to behave alike, the biggest group first:") if groups else NOTHING
    listed = tag("ul", *(tag("li", group) for group in groups)) if groups else NOTHING
    return join(tag("strong", f"{body['chosen']} chosen: "), f"{body['why']}{share}", about, listed)


def _votes(votes: Sequence[Vote], num_inputs: int) -> Markup:
    if not num_inputs:
        return join(tag("strong", "No input was found on which the groups differ"), ", so the model was not asked.")
    about = tag("strong", "The model was asked what is right on inputs on which the groups differ:")
    if not votes:
        return join(about, " it said nothing that could be tried.")
    return join(about, table("the model's own tests", VOTE_HEADS, [_vote_row(vote) for vote in votes]))


def _vote_row(vote: Vote) -> tuple[Markup | str, ...]:
    keepers = shorten(", ".join(vote.keepers)) or "none"
    return short_code(vote.call), short_code(vote.wanted), str(vote.count), keepers
