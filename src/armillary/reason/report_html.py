"""Write a run's story as one HTML page that asks nobody for anything: no script, no address, its own style sheet.

Judges nothing and reads no file. The page allows itself nothing but the style sheet whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from armillary.core.tasks import Example, Predicate, TaskSpec
from armillary.core.values import dumps
from armillary.reason.markup import NOTHING, Markup, join, tag
from armillary.reason.report_attempts import attempts_section
from armillary.reason.report_choices import choices_section
from armillary.reason.report_code import show_code, show_text
from armillary.reason.report_glance import answer_section, evidence_section, rejected_section, verdict_section
from armillary.reason.report_parts import counted, facts, short_code, table
from armillary.reason.report_story import Story
from armillary.reason.report_style import STYLE
from armillary.reason.report_times import times_section
from armillary.verify.rendering import render, render_call


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page.

    Attributes:
        name: where links lead to.
    """

    name: str
    title: str
    shown: Markup


def page(story: Story) -> str:
    """The whole page, well-formed."""
    first = _section("verdict", "Verdict", verdict_section(story))
    glance = [
        _section("answer", "Answer", answer_section(story)),
        _section("rejected", "What was rejected", rejected_section(story)),
    ]
    rest = [
        _section("evidence", "Evidence", evidence_section(story)),
        _section("task", "Task", _task(story.task)),
        _section("choice", "Why this answer", choices_section(story)),
        _section("time", "Time", times_section(story)),
        _section("attempts", "Attempts", attempts_section(story)),
        _section("origin", "Where this comes from", _origin(story)),
    ]
    links = [tag("li", tag("a", section.title, href=f"#{section.name}")) for section in (first, *glance, *rest)]
    body = [
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag("header", tag("h1", "Report on ", tag("code", story.task.entry_point)), _subtitle(story), _note(story)),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag(
            "main",
            first.shown,
            tag("div", *(section.shown for section in glance), class_="glance"),
            *(section.shown for section in rest),
            id="report",
        ),
    ]
    return f"<!DOCTYPE html>\n{tag('html', _head(story), tag('body', *body), lang='en').source}\n"


def _section(name: str, title: str, content: Markup) -> Section:
    return Section(name, title, tag("section", tag("h2", title), content, id=name))


def _head(story: Story) -> Markup:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; script-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"Report on {''.join(char for char in story.task.entry_point if char.isprintable())}"),
        # The style sheet holds no character that markup would take for its own, which a test sees to.
        tag("style", Markup(STYLE)),
    )


def _subtitle(story: Story) -> Markup:
    name = _model(story).get("name")
    parts = [str(name)] if name else []
    took = f"took {story.spans[-1].stop_s:.1f} s"
    return tag("p", ", ".join([*parts, _when(story.started_at), took]), class_="faint")


def _note(story: Story) -> Markup:
    return tag("p", story.note, class_="note") if story.note else NOTHING


def _task(task: TaskSpec) -> Markup:
    parameters = [tag("li", tag("code", item.name, *_typed(item.annotation, item.domain))) for item in task.parameters]
    parts = [show_text(task.prompt), tag("h3", "Parameters"), tag("ul", *parameters)] if parameters else []
    parts = parts or [show_text(task.prompt)]
    if task.returns:
        parts.append(tag("p", "Returns ", tag("code", task.returns)))
    if task.examples:
        rows = [_example_row(task.entry_point, item) for item in task.examples]
        examples = table("examples", ("call", "must give", "written by"), rows)
        parts += [tag("h3", f"Examples ({len(task.examples)})"), examples]
    raised = tuple(Predicate(f"{name} when {condition}") for name, condition in task.raises)
    parts += [
        _predicates("Inputs worth testing", task.requires),
        _predicates("Must hold for every result", task.ensures),
        _predicates("Laws", task.laws),
        _predicates("Must raise", raised),
        _predicates("Counted steps", task.temporal),
    ]
    if task.reference:
        parts += [tag("h3", "Known-good program to compare with"), show_code(task.reference)]
    budget = task.budget
    limits = (
        f"{counted(budget.num_candidates, 'first proposal')}, {counted(budget.max_rounds, 'round')} of revisions, "
        f"{counted(budget.max_tokens, 'token')}, {budget.max_seconds:g} s"
    )
    return join(*parts, tag("h3", "Budget"), tag("p", limits))


def _typed(annotation: str, domain: str) -> list[str]:
    return [f": {annotation}" if annotation else "", f"  # {domain}" if domain else ""]


def _example_row(function: str, example: Example) -> tuple[Markup | str, ...]:
    wanted = f"raises {example.raises}" if example.raises else render(example.expected)
    return short_code(render_call(function, example.arguments)), short_code(wanted), example.origin


def _predicates(title: str, predicates: Sequence[Predicate]) -> Markup:
    if not predicates:
        return NOTHING
    rows = [tag("li", short_code(item.text), tag("span", f" ({item.origin})", class_="faint")) for item in predicates]
    return join(tag("h3", title), tag("ul", *rows))


def _origin(story: Story) -> Markup:
    header, model = story.header, _model(story)
    rows: list[tuple[str, Markup | str]] = [
        ("model", str(model.get("name", ""))),
        ("model's SHA-256", tag("code", str(model.get("sha256", "")) or "not told")),
        ("sandbox tier", str(header.get("sandbox_tier", ""))),
        ("seed", str(header.get("seed", ""))),
        ("Armillary", str(header.get("armillary", ""))),
        ("Python", str(header.get("python", ""))),
        ("begun", _when(story.started_at)),
        ("trace", f"{story.path.name}, {story.num_events} events"),
        ("hash of its last event", tag("code", story.last_hash)),
        ("task's SHA-256", tag("code", story.task.sha256)),
    ]
    again = "Every verdict and every choice can be derived again from the trace, without the model:"
    command = show_text(f"armillary replay {story.path.name}")
    return join(facts(rows), tag("p", again), command, _others(story))


def _model(story: Story) -> dict[str, Any]:
    model = story.header.get("model")
    return model if isinstance(model, dict) else {}


def _when(at_s: float) -> str:
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at_s} s"


def _others(story: Story) -> Markup:
    if not story.others:
        return NOTHING
    rows = [tag("li", f"{event.kind} ", short_code(dumps(event.body))) for event in story.others]
    head = tag("summary", f"{len(rows)} other events of the trace")
    return tag("details", head, tag("ul", *rows))
