"""The engine's benchmark, on a tiny model and a peer whose seconds are known: what is asked, counted and written."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_gguf import VOCAB_SIZE, write_tiny_decoder

from armillary.bench import engine as topic
from armillary.bench.engine import FULL, QUICK, Peer, Size, divergence, measure_model, run, time_both
from armillary.bench.machine import MachineState
from armillary.bench.reference import load_reference
from armillary.bench.rows import Row, read_records
from armillary.bench.texts import LONG_QUESTION, PROMPTS
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.messages import Message
from armillary.runtime.local_engine import load_engine

MACHINE = MachineState("a machine", 1, 0.1, 0.0, "abc")
TINY = Size(repeats=2, decode_tokens=4, prefill_tokens=48, parity_prompts=1)
RESULTS = Path("benchmarks") / "results" / "engine.jsonl"


@dataclass
class FakePeer:
    """Needs one second more for every question of its kind, and knows nothing: its logits are all equal."""

    decodes: list[tuple[list[int], list[int]]] = field(default_factory=list)
    prefills: list[list[int]] = field(default_factory=list)
    is_open: bool = True

    def time_decode(self, prompt: list[int], answer: list[int]) -> float:
        self.decodes.append((prompt, answer))
        return float(len(self.decodes))

    def time_prefill(self, prompt: list[int]) -> float:
        self.prefills.append(prompt)
        return float(len(self.prefills))

    def save_logits(self, token_ids: list[int], path: Path) -> None:
        np.save(path, np.zeros((len(token_ids), VOCAB_SIZE), np.float32))


@pytest.fixture(scope="module", autouse=True)
def _threads_as_before() -> Iterator[None]:
    num_threads = torch.get_num_threads()
    yield
    torch.set_num_threads(num_threads)


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_decoder(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def rows(tiny_path: Path) -> dict[str, Row]:
    measured = measure_model(str(tiny_path), TINY, MACHINE, lambda *_: nullcontext(FakePeer()))
    return {row.metric.removeprefix(f"{tiny_path}."): row for row in measured}


def test_a_model_has_rows_of_speed_distance_and_parity(rows: dict[str, Row]) -> None:
    assert list(rows) == [
        *(f"{phase}.{part}" for phase in ("decode", "prefill") for part in ("ours", "llama_cpp", "ratio")),
        *("kl.llama_cpp", "kl.ours", "bytes_per_token"),
        *("parity.max_logit_difference", "parity.equal_greedy_answers"),
    ]
    assert {(row.claim, row.hardware, row.threads, row.load, row.commit) for row in rows.values()} == {
        ("engine", "a machine", 1, 0.1, "abc")
    }


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_a_ratio_is_that_of_the_medians_and_they_have_their_spread(rows: dict[str, Row], phase: str) -> None:
    ours, theirs, ratio = (rows[f"{phase}.{part}"] for part in ("ours", "llama_cpp", "ratio"))
    assert ratio.value == pytest.approx(ours.value / theirs.value)
    for row in (ours, theirs):
        assert row.interval is not None
        assert row.interval[0] <= row.value <= row.interval[1]
    assert ours.n == theirs.n == ratio.n == TINY.repeats


def test_only_decode_has_a_bound_of_speed(rows: dict[str, Row]) -> None:
    assert (rows["decode.ratio"].target, rows["decode.ratio"].holds) == (1.0, True)
    assert (rows["prefill.ratio"].target, rows["prefill.ratio"].holds) == (None, None)


def test_our_distance_is_held_to_that_of_the_peer(rows: dict[str, Row]) -> None:
    ours, theirs = rows["kl.ours"], rows["kl.llama_cpp"]
    assert (ours.target, ours.aim, ours.holds) == (theirs.value, "lower", True)
    assert ours.value < 1e-6 < theirs.value


def test_the_tiny_model_answers_as_the_reference_does(rows: dict[str, Row]) -> None:
    difference, same = rows["parity.max_logit_difference"], rows["parity.equal_greedy_answers"]
    assert (difference.aim, difference.holds) == ("lower", True)
    assert (same.value, same.unit, same.target, same.n, same.holds) == (1, "of 1", 1, 1, True)


def test_another_models_answers_are_not_counted_as_equal(tiny_path: Path, tmp_path: Path) -> None:
    other = load_reference(write_tiny_decoder(tmp_path / "other.gguf", has_own_head=True))
    assert topic.count_equal_greedy(tiny_path, other, PROMPTS[:2], 1) == 0


def test_the_peer_is_closed_before_parity_is_measured(tiny_path: Path) -> None:
    peer = FakePeer()

    @contextmanager
    def opened(*_: object) -> Iterator[Peer]:
        yield peer
        peer.is_open = False

    for row in measure_model(str(tiny_path), replace(TINY, repeats=1), MACHINE, opened):
        assert peer.is_open == (".parity." not in row.metric)


def test_the_peer_reads_what_our_engine_read_and_wrote_and_the_first_round_does_not_count(tiny_path: Path) -> None:
    peer, engine = FakePeer(), load_engine(tiny_path, name="tiny", num_threads=1, max_context_tokens=2048)
    decode, prefill = time_both(engine, peer, TINY)
    prompt = engine.tokenizer.encode_chat((Message("user", LONG_QUESTION),))
    assert [(asked, len(answer)) for asked, answer in peer.decodes] == [(prompt, TINY.decode_tokens)] * 3
    assert len({tuple(asked) for asked in peer.prefills}) == 1
    assert decode.peer == [TINY.decode_tokens / 2, TINY.decode_tokens / 3]
    assert prefill.peer == [len(peer.prefills[0]) / 2, len(peer.prefills[0]) / 3]
    assert len(decode.ours) == len(prefill.ours) == TINY.repeats
    assert min(decode.ours + prefill.ours) > 0


def test_divergence_is_that_of_the_exact_distribution_from_the_other() -> None:
    exact, other = torch.zeros(3, 2), torch.tensor([[math.log(3.0), 0.0]]).expand(3, 2)
    assert divergence(exact, other) == pytest.approx(0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25))
    assert divergence(exact, exact + 1.0) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.skipif(find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_the_real_llama_cpp_is_near_the_exact_model(tiny_path: Path) -> None:
    rows = {row.metric: row for row in measure_model(str(tiny_path), replace(TINY, repeats=1), MACHINE)}
    assert 0 <= rows[f"{tiny_path}.kl.llama_cpp"].value < 1e-3
    assert rows[f"{tiny_path}.decode.llama_cpp"].value > 0


@dataclass
class Measurements:
    """Stands in for the measuring of a model; gives two rows and keeps what was asked for."""

    asked: list[tuple[str, Size]] = field(default_factory=list)

    def __call__(self, model: str, size: Size, state: MachineState) -> Iterator[Row]:
        self.asked.append((model, size))
        blank = Row("engine", "", 1.0, "x", None, "higher", None, "", 1, None, 1, state.load, state.hardware, "abc")
        yield replace(blank, metric=f"{model}.one")
        yield replace(blank, metric=f"{model}.two")


@pytest.fixture
def measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measurements:
    """A run on a quiet machine, in an empty folder, whose models are not really measured."""
    fake = Measurements()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(topic, "observe_machine", lambda: MACHINE)
    monkeypatch.setattr(topic, "measure_model", fake)
    return fake


@pytest.mark.parametrize(
    ("quick", "limit", "noisy", "is_partial"),
    [
        (False, None, False, False),
        (False, len(topic.MODELS), False, False),
        (True, None, False, True),
        (False, 1, False, True),
        (False, None, True, True),
    ],
)
def test_rows_are_partial_unless_all_models_were_measured_in_full_on_a_quiet_machine(
    measurements: Measurements, quick: bool, limit: int | None, noisy: bool, is_partial: bool
) -> None:
    rows = run(quick=quick, data=None, limit=limit, noisy=noisy)
    assert measurements.asked == [(model, QUICK if quick else FULL) for model in topic.MODELS[:limit]]
    kept = [(record["metric"], record["is_partial"]) for record in read_records(RESULTS)]
    assert kept == [(row.metric, row.is_partial) for row in rows]
    assert kept == [(f"{model}.{part}", is_partial) for model, _ in measurements.asked for part in ("one", "two")]


def test_rows_before_a_failure_are_kept(measurements: Measurements, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(model: str, size: Size, state: MachineState) -> Iterator[Row]:
        yield next(measurements(model, size, state))
        raise NotFoundError("the peer died")

    monkeypatch.setattr(topic, "measure_model", fails)
    with pytest.raises(NotFoundError, match="died"):
        run(quick=True, data=None, limit=None, noisy=False)
    assert [record["metric"] for record in read_records(RESULTS)] == [f"{topic.MODELS[0]}.one"]


def test_a_data_folder_is_refused(measurements: Measurements, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="reads no data folder"):
        run(quick=True, data=tmp_path, limit=None, noisy=True)
    assert not measurements.asked


def test_a_noisy_machine_is_refused_before_anything_is_measured(
    measurements: Measurements, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic, "observe_machine", lambda: replace(MACHINE, load=99.0))
    with pytest.raises(UsageError, match="not quiet"):
        run(quick=True, data=None, limit=None, noisy=False)
    assert not measurements.asked


def test_a_model_that_was_not_pulled_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMILLARY_HOME", str(tmp_path / "home"))
    with pytest.raises(NotFoundError, match="armillary pull smollm2-135m"):
        next(measure_model("smollm2-135m", TINY, MACHINE))


def test_without_llama_cpp_a_model_is_not_measured(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(NotFoundError, match="llama-cpp-python is not installed"):
        next(measure_model(str(tiny_path), TINY, MACHINE))
