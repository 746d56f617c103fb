"""Joined, what the stream shows is the text up to its first stop string, however the bytes arrive."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toy_model import cut_at_first_stop

from armillary.engine.text_stream import TextStream

PIECES = st.lists(st.sampled_from(["a", "b", "ab", "é", "日", "\n", "🜲", "x"]), max_size=12).map("".join)
STOPS = st.lists(st.sampled_from(["ab", "b", "aab", "é日", "🜲x", "\n\n", "abab", "zz", "日"]), max_size=3)


def shown(stream: TextStream, *pieces: bytes) -> list[str]:
    return [*(stream.push(piece) for piece in pieces), stream.flush()]


@given(text=PIECES, stop=STOPS, cuts=st.lists(st.integers(0, 60), max_size=8))
@example(text="xabx", stop=["ab"], cuts=[2])
@example(text="aab", stop=["b", "aab"], cuts=[])
def test_the_joined_output_is_the_text_cut_at_the_first_stop_string(
    text: str, stop: list[str], cuts: list[int]
) -> None:
    encoded = text.encode()
    bounds = [0, *sorted(min(cut, len(encoded)) for cut in cuts), len(encoded)]
    stream = TextStream(stop)
    pieces = [encoded[start:end] for start, end in pairwise(bounds)]
    expected = cut_at_first_stop(text, stop)
    assert "".join(shown(stream, *pieces)) == (text if expected is None else expected)
    assert stream.is_stopped == (expected is not None)


@given(encoded=st.binary(max_size=30), cuts=st.lists(st.integers(0, 30), max_size=6))
def test_broken_bytes_decode_as_they_would_in_one_piece(encoded: bytes, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(encoded)) for cut in cuts), len(encoded)]
    pieces = [encoded[start:end] for start, end in pairwise(bounds)]
    assert "".join(shown(TextStream(), *pieces)) == encoded.decode(errors="replace")


def test_text_that_cannot_begin_a_stop_string_is_shown_at_once() -> None:
    assert TextStream(["STOP"]).push(b"hello") == "hello"


def test_an_incomplete_character_waits_for_its_last_byte() -> None:
    assert shown(TextStream(), b"a\xc3", b"\xa9") == ["a", "é", ""]


def test_an_incomplete_character_at_the_end_becomes_a_replacement_character() -> None:
    assert shown(TextStream(), b"a\xc3") == ["a", "\ufffd"]


def test_a_possible_stop_string_is_held_until_it_turns_out_not_to_be_one() -> None:
    assert shown(TextStream(["STOP"]), b"aST", b"x") == ["a", "STx", ""]


def test_what_was_held_is_shown_at_the_end() -> None:
    assert shown(TextStream(["STOP"]), b"aSTO") == ["a", "STO"]


def test_a_stop_string_over_three_tokens_is_never_shown() -> None:
    assert shown(TextStream(["STOP"]), b"aS", b"TO", b"P tail", b"more") == ["a", "", "", "", ""]


def test_the_stop_string_that_is_complete_first_wins() -> None:
    assert shown(TextStream(["abcd", "bc"]), b"xabcd") == ["xa", ""]


def test_of_two_complete_at_once_the_longer_wins() -> None:
    assert shown(TextStream(["c", "abc"]), b"xabc") == ["x", ""]


@pytest.mark.parametrize("last", [b"P", b"x"])
def test_going_back_to_an_earlier_state_repeats_what_follows(last: bytes) -> None:
    stream = TextStream(["STOP"])
    stream.push(b"aST")
    kept = stream.state
    first = shown(stream, b"O", last)
    stream.state = kept
    assert shown(stream, b"O", last) == first
