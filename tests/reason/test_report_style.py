"""The style sheet: every text can be read in light and in dark."""

from __future__ import annotations

import re

import pytest

from armillary.reason.report_style import STYLE

TEXTS = ["ink", "faint", "link", "good", "bad", "open", "keyword", "string", "number", "name", "builtin", "comment"]
SCHEMES = [dict(re.findall(r"--([\w-]+): (#\w{6})", part)) for part in STYLE.split("@media")[:2]]


def luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    """Ratio of WCAG 2, from 1 to 21."""
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_every_text_stands_out_from_what_it_stands_on(scheme: dict[str, str]) -> None:
    pairs = [(text, ground) for text in TEXTS for ground in ("paper", "box")]
    pairs += [("ink", ground) for ground in ("added", "removed", "mark-added", "mark-removed")]
    assert [pair for pair in pairs if contrast(scheme[pair[0]], scheme[pair[1]]) < 4.5] == []


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_every_bar_of_the_timeline_stands_out(scheme: dict[str, str]) -> None:
    assert min(contrast(scheme[work], scheme["box"]) for work in ("model", "checking", "other")) >= 3


def test_both_schemes_name_the_same_colours() -> None:
    assert SCHEMES[0].keys() == SCHEMES[1].keys()


def test_every_colour_that_is_used_is_defined() -> None:
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= SCHEMES[0].keys()


def test_spaces_inside_of_a_value_are_kept() -> None:
    assert re.search(r"^code \{[^}]*white-space: pre-wrap", STYLE, re.MULTILINE)
