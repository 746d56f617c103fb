"""Search for an answer that its own tests cannot refute: propose, verify, select, revise, stop.

Writes every decision to the trace. Trusts the verifier alone: what the model says about its answer counts for nothing.
"""

from __future__ import annotations

from armillary.core.protocols import Generator, Verifier
from armillary.core.tasks import TaskSpec
from armillary.core.trace import Trace
from armillary.core.verdicts import Status
from armillary.reason.budget import Ledger, StopReason
from armillary.reason.lease import CoreLease
from armillary.reason.leased import LeasedGenerator, LeasedVerifier
from armillary.reason.propose import OnToken
from armillary.reason.search import Search, Solution


def solve(
    task: TaskSpec,
    generator: Generator,
    verifier: Verifier,
    trace: Trace,
    *,
    seed: int = 0,
    on_token: OnToken | None = None,
    lease: CoreLease | None = None,
) -> Solution:
    """Answer a task within its budget.

    Args:
        task: what is asked, with its evidence and its budget.
        generator: writes the candidates.
        verifier: judges them.
        trace: gets every decision; the caller opens and closes it.
        seed: of the sampled candidates and of the verifier's inputs.
        on_token: called with every token; its ``candidate`` n belongs to attempt ``a<n>``.
        lease: hands the cores to model and verifier in turn, and measures time; a new one if None.

    Raises:
        BudgetError: the budget ended before a single answer was finished.
        ArmillaryError: the model failed on every candidate, or as ``generator.stream`` says.
    """
    lease = lease or CoreLease()
    model, judge = LeasedGenerator(generator, lease), LeasedVerifier(verifier, lease)
    search = Search(task, model, judge, trace, seed, on_token, Ledger(task.budget, lease))

    # 1. Write down what is asked, and of whom.
    search.record_start()

    # 2. A task that contradicts itself has no answer: say so before a token is spent.
    verdict = search.judge_task()
    if verdict.status == Status.SPEC_SUSPECT:
        return search.answer(None, verdict, StopReason.SPEC_SUSPECT)

    # 3. Propose the likeliest answer, then varied ones until they agree. Each is verified at once; the model waits.
    stop = search.propose_all()
    search.require_attempts()

    # 4. Select by hard evidence, then agreement, then what the model's own tests say where it is divided.
    incumbent = search.choose()
    if stop is None:
        incumbent = search.hear_model(incumbent)

    # 5. Revise with the smallest counterexample, until accepted, out of rounds or out of budget.
    num_rounds = 0
    while stop is None and (stop := search.reason_to_stop(incumbent, num_rounds)) is None:
        num_rounds += 1
        incumbent, stop = search.revise(incumbent, num_rounds)

    # 6. Answer, or hand back the best attempt under the verdict that it got.
    assert stop is not None
    return search.answer(incumbent, incumbent.verdict, stop)
