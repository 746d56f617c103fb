from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from armillary.core.errors import NotFoundError, UsageError
from armillary.core.messages import Event, Finished, Message, ModelIdentity, Request, Sampling, Token, Usage
from armillary.core.protocols import Generator
from armillary.runtime.recorded import RecordedGenerator, key_of

MODEL = ModelIdentity("toy", "a" * 64)
ASK = Request((Message("user", "count"),), Sampling(temperature=0.8, seed=3), num_candidates=3)


class Counter:
    """Writes its own number and how often it was asked; the last candidate ends first."""

    def __init__(self, model: ModelIdentity = MODEL, reason: str = "stop") -> None:
        self.model = model
        self.reason = reason
        self.asked: list[tuple[int, int]] = []

    def stream(self, request: Request) -> Iterator[Event]:
        self.asked.append((request.first_candidate, request.num_candidates))
        for candidate in reversed(range(request.num_candidates)):
            yield Token(candidate, f"n{request.first_candidate + candidate}", logprob=-1.0)
            yield Token(candidate, "!", logprob=-2.0)
            usage = Usage(7 if candidate == 0 else 0, 2)
            yield Finished(candidate, "stop" if self.reason == "stop" else "cancelled", usage)


def texts(generator: Generator, request: Request) -> dict[int, str]:
    found: dict[int, str] = {}
    for event in generator.stream(request):
        if isinstance(event, Token):
            found[event.candidate] = found.get(event.candidate, "") + event.text
    return found


def bill(generator: Generator, request: Request) -> Usage:
    return sum((event.usage for event in generator.stream(request) if isinstance(event, Finished)), Usage())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "toy.jsonl"


def test_what_was_recorded_is_given_again_without_the_model(path: Path) -> None:
    live = texts(RecordedGenerator(path, MODEL, Counter), ASK)
    assert live == {0: "n0!", 1: "n1!", 2: "n2!"}
    again = RecordedGenerator(path, MODEL)
    assert (again.model, texts(again, ASK)) == (MODEL, live)
    [first, *_] = again.stream(ASK)
    assert first == Token(0, "n0!", logprob=-1.5)


def test_the_bill_is_the_same_live_and_recorded(path: Path) -> None:
    live = bill(RecordedGenerator(path, MODEL, Counter), ASK)
    assert live == Usage(7, 6) == bill(RecordedGenerator(path, MODEL), ASK)


def test_only_what_is_missing_is_asked_for(path: Path) -> None:
    texts(RecordedGenerator(path, MODEL, Counter), replace(ASK, num_candidates=1, first_candidate=2))
    source = Counter()
    found = RecordedGenerator(path, MODEL, lambda: source)
    assert texts(found, replace(ASK, num_candidates=5)) == {n: f"n{n}!" for n in range(5)}
    assert source.asked == [(0, 2), (3, 2)]
    assert bill(found, replace(ASK, first_candidate=3, num_candidates=2)) == Usage(7, 4)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASK, messages=(Message("user", "other"),)),
        replace(ASK, sampling=replace(ASK.sampling, seed=4)),
        replace(ASK, sampling=replace(ASK.sampling, max_tokens=9)),
        replace(ASK, first_candidate=1),
    ],
)
def test_another_request_is_another_recording(other: Request) -> None:
    assert key_of(MODEL, other, 0) != key_of(MODEL, ASK, 0)


def test_neither_seed_nor_number_matters_to_a_greedy_answer() -> None:
    greedy = replace(ASK, sampling=Sampling())
    other = replace(greedy, sampling=Sampling(seed=9), first_candidate=4)
    assert key_of(MODEL, greedy, 0) == key_of(MODEL, other, 1)
    assert key_of(MODEL, greedy, 0) != key_of(ModelIdentity("toy", "b" * 64), greedy, 0)


def test_without_a_model_a_missing_candidate_is_told(path: Path) -> None:
    with pytest.raises(NotFoundError, match="does not hold every candidate"):
        texts(RecordedGenerator(path, MODEL), ASK)


def test_what_did_not_end_by_itself_is_not_recorded(path: Path) -> None:
    texts(RecordedGenerator(path, MODEL, lambda: Counter(reason="cancelled")), ASK)
    assert not path.exists()


def test_a_run_that_was_killed_leaves_all_whole_lines(path: Path) -> None:
    texts(RecordedGenerator(path, MODEL, Counter), ASK)
    whole = path.read_text()
    path.write_text(whole[:-20])
    source = Counter()
    assert texts(RecordedGenerator(path, MODEL, lambda: source), ASK) == {0: "n0!", 1: "n1!", 2: "n2!"}
    assert len(source.asked) == 1
    assert sorted(path.read_text().splitlines()) == sorted(whole.splitlines())


@pytest.mark.parametrize("text", ["", "no json\n", '{"format": 9}\n', '{"format": 9, "model": {"sha256": ""}}\n'])
def test_another_file_is_refused(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(UsageError):
        RecordedGenerator(path, MODEL)


def test_recordings_of_another_model_are_refused(path: Path) -> None:
    texts(RecordedGenerator(path, MODEL, Counter), ASK)
    with pytest.raises(UsageError, match="holds candidates of toy, not of new"):
        RecordedGenerator(path, ModelIdentity("new", "c" * 64))
    assert json.loads(path.read_text().splitlines()[0])["model"]["name"] == "toy"


def test_another_model_is_not_recorded_under_this_ones_name(path: Path) -> None:
    wrong = RecordedGenerator(path, MODEL, lambda: Counter(ModelIdentity("new", "c" * 64)))
    with pytest.raises(UsageError, match="the model is new, the recording is of toy"):
        texts(wrong, ASK)
