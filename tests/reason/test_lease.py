"""The cores are somebody's or nobody's, and who had them for how long is measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from reason_fakes import Clock, OracleVerifier, ScriptedModel, fenced, judged, task_with

from armillary.core.errors import UsageError
from armillary.core.messages import Event, Request, Sampling
from armillary.core.tasks import Example, Parameter, TaskSpec
from armillary.core.trace import Trace
from armillary.core.verdicts import Verdict
from armillary.reason.lease import CoreLease, Holder
from armillary.reason.leased import LeasedGenerator
from armillary.reason.loop import solve
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.verifier import CodeVerifier

RIGHT, ALSO_RIGHT, WRONG, WORSE = (f"def f(x): return {number}\n" for number in range(4))
TRUTH = {RIGHT: judged(3), ALSO_RIGHT: judged(3), WRONG: judged(1)}


def taken_twice(lease: CoreLease, first: Holder, second: Holder) -> None:
    with lease.hold(first), lease.hold(second):
        pass


@pytest.mark.parametrize("first", ["model", "verifier"])
@pytest.mark.parametrize("second", ["model", "verifier"])
def test_cores_that_are_taken_are_given_to_nobody(first: Holder, second: Holder) -> None:
    lease = CoreLease()
    with pytest.raises(UsageError, match=f"the {first} has the cores, the {second} cannot have them too"):
        taken_twice(lease, first, second)
    assert lease.holder is None


def test_time_is_kept_apart_by_holder_and_changes_of_hands_are_counted() -> None:
    clock = Clock()
    lease = CoreLease(clock)
    turns: list[tuple[Holder, float]] = [("model", 1.0), ("model", 2.0), ("verifier", 4.0), ("model", 8.0)]
    for holder, length_s in turns:
        with lease.hold(holder):
            clock.now_s += length_s
        clock.now_s += 100.0
    assert (lease.held_s("model"), lease.held_s("verifier"), lease.num_handovers) == (11.0, 4.0, 2)


def test_time_counts_even_when_the_work_fails() -> None:
    clock = Clock()
    lease = CoreLease(clock)

    def work() -> None:
        with lease.hold("verifier"):
            clock.now_s += 3.0
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (lease.held_s("verifier"), lease.holder) == (3.0, None)


def test_only_what_other_threads_do_during_a_check_is_overlap() -> None:
    strays = Clock()
    lease = CoreLease(Clock(), strays)
    with lease.hold("model"):
        strays.now_s += 5.0
    strays.now_s += 5.0
    assert lease.overlap_s == 0.0
    with lease.hold("verifier"):
        strays.now_s += 0.25
    assert lease.overlap_s == 0.25


def test_a_thread_that_goes_on_working_during_a_check_is_found_out() -> None:
    lease, is_over = CoreLease(), threading.Event()

    def burn() -> None:
        while not is_over.is_set():
            pass

    engine = threading.Thread(target=burn)
    engine.start()
    with lease.hold("verifier"):
        time.sleep(0.1)
    is_over.set()
    engine.join()
    assert lease.overlap_s > 0.01


@dataclass
class WatchedModel(ScriptedModel):
    """Notes who has the cores whenever it works; behind each of its events it takes a last breath."""

    lease: CoreLease = field(default_factory=CoreLease)
    seen: set[Holder | None] = field(default_factory=set)

    def stream(self, request: Request) -> Iterator[Event]:
        events = super().stream(request)
        try:
            for event in events:
                self.seen.add(self.lease.holder)
                yield event
        finally:
            self.seen.add(self.lease.holder)


@dataclass
class WatchedVerifier(OracleVerifier):
    """Notes who has the cores whenever it is asked."""

    lease: CoreLease = field(default_factory=CoreLease)
    seen: dict[str, set[Holder | None]] = field(default_factory=dict)

    def __getattribute__(self, name: str) -> Any:
        if name in ("sandbox_tier", "verify", "behaviours", "telling_inputs", "soft_checks", "last_steps"):
            self.seen.setdefault(name, set()).add(self.lease.holder)
        return super().__getattribute__(name)


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        (
            [[RIGHT], [ALSO_RIGHT, WRONG]],
            {"sandbox_tier", "verify", "behaviours", "telling_inputs", "soft_checks"},
        ),
        ([[WRONG], [WORSE, WORSE], [RIGHT]], {"sandbox_tier", "verify", "last_steps"}),
    ],
)
def test_the_model_is_idle_while_code_is_checked_and_no_code_runs_while_it_writes(
    script: list[list[str]], asked: set[str]
) -> None:
    lease = CoreLease()
    texts = [[fenced(code) for code in codes] for codes in script]
    model = WatchedModel([*texts, ["7"] * 5], lease=lease)
    verifier = WatchedVerifier(TRUTH, telling=({"tuple": [9]},), lease=lease)
    solve(task_with(), model, verifier, Trace(), lease=lease)
    assert model.seen == {"model"}
    assert verifier.seen == {name: {"verifier"} for name in asked}
    assert lease.holder is None


def test_a_model_that_is_let_go_early_has_the_cores_for_that_too() -> None:
    lease = CoreLease()
    model = WatchedModel([["a long answer"]], lease=lease)
    events = LeasedGenerator(model, lease).stream(Request((), Sampling()))
    next(events)
    assert lease.holder is None
    events.close()  # type: ignore[attr-defined]  # it is a generator, which the protocol does not say
    assert (model.seen, model.num_closed, lease.holder) == ({"model"}, 1, None)


class Listed:
    """A model whose events are a plain iterator, which cannot be closed."""

    model = ScriptedModel([]).model

    def stream(self, request: Request) -> Iterator[Event]:
        return iter(list(ScriptedModel([["one"]]).stream(request)))


def test_events_that_cannot_be_closed_are_read_to_their_end() -> None:
    lease = CoreLease()
    assert len(list(LeasedGenerator(Listed(), lease).stream(Request((), Sampling())))) == 2
    assert lease.holder is None


def test_a_verifier_that_asks_the_model_is_refused() -> None:
    lease = CoreLease()
    model = LeasedGenerator(ScriptedModel([["one"]]), lease)

    class Asking(OracleVerifier):
        def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
            list(model.stream(Request((), Sampling())))
            return super().verify(task, code, seed=seed)

    with pytest.raises(UsageError, match="the verifier has the cores"):
        solve(task_with(), ScriptedModel([]), Asking(TRUTH), Trace(), lease=lease)


def cores_of(trace: Trace) -> dict[str, Any]:
    body: dict[str, Any] = trace.events[-1].body
    return dict(body["cores"])


def test_the_answer_tells_who_had_the_cores_for_how_long() -> None:
    clock, trace = Clock(), Trace()
    model = ScriptedModel([[fenced(WRONG)], [fenced(RIGHT)] * 2], clock=clock, seconds_per_token=0.5)
    verifier = OracleVerifier(TRUTH, clock=clock, seconds_per_check=2.0)
    solve(task_with(), model, verifier, trace, lease=CoreLease(clock, Clock()))
    num_words = len(fenced(RIGHT).split(" "))
    assert cores_of(trace) == {
        "model_s": 3 * num_words * 0.5,
        "verifier_s": 2 * 2.0,
        "overlap_s": 0.0,
        # The task is judged first; then each of the two different programs interrupts the model.
        "num_handovers": 5,
    }


def test_events_tell_the_seconds_since_the_one_before() -> None:
    clock, trace = Clock(), Trace()
    model = ScriptedModel([[fenced(RIGHT)]], clock=clock, seconds_per_token=0.5)
    verifier = OracleVerifier(TRUTH, clock=clock, seconds_per_check=2.0)
    solve(task_with(num_candidates=1), model, verifier, trace, lease=CoreLease(clock, Clock()))
    written_s = len(fenced(RIGHT).split(" ")) * 0.5
    times = {event.kind: event.body.get("times") for event in trace.events}
    assert times == {
        "header": None,
        "task": None,
        "proposal": {"at_s": 0.0, "model_s": 0.0, "verifier_s": 0.0},
        "attempt": {"at_s": written_s, "model_s": written_s, "verifier_s": 0.0},
        "verdict": {"at_s": written_s + 2.0, "model_s": 0.0, "verifier_s": 2.0},
        "selection": {"at_s": written_s + 2.0, "model_s": 0.0, "verifier_s": 0.0},
        "answer": {"at_s": written_s + 2.0, "model_s": 0.0, "verifier_s": 0.0},
    }


def test_the_real_jail_leaves_no_thread_of_this_process_working() -> None:
    trace, task = Trace(), TaskSpec("Add one.", "f", (Parameter("x", "int"),), examples=(Example((1,), 2),))
    model = ScriptedModel([[fenced("def f(x): return x")], [fenced("def f(x): return x + 1")] * 3])
    with Sandbox("B") as jail:
        solve(task, model, CodeVerifier(jail), trace)
    found = cores_of(trace)
    assert found["verifier_s"] > 0
    assert found["overlap_s"] <= 0.001
