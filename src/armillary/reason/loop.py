"""Search for an answer that its own tests cannot refute: propose, verify, select, revise, stop.

Writes every decision to the trace. Trusts the verifier alone: what the model says about its answer counts for nothing.
"""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace

from armillary.core.errors import ArmillaryError, BudgetError
from armillary.core.messages import Message, Request, Sampling, Token, Usage
from armillary.core.protocols import Generator, Verifier
from armillary.core.tasks import TaskSpec, task_to_json
from armillary.core.trace import FORMAT_VERSION, Trace
from armillary.core.values import Json
from armillary.core.verdicts import Status, Verdict, verdict_to_json
from armillary.reason.assemble import assemble
from armillary.reason.budget import MIN_ANSWER_TOKENS, Clock, Ledger, StopReason, estimate_tokens
from armillary.reason.propose import Draft, OnToken, first_messages, propose
from armillary.reason.revise import accepts, revision_messages, why_decided
from armillary.reason.select import Attempt, Selection, contenders, select

# What small models write after the function is asked for by nobody: an explanation, a demonstration, tests. A closing
# fence is told from an opening one by the empty line behind it. Four, because some servers take no more.
ANSWER_ENDS = ("\n```\n\n", "\nif __name__", "\nprint(", "\nassert ")
GREEDY = Sampling(temperature=0.0, stop=ANSWER_ENDS)
VARIED = Sampling(temperature=0.8, top_p=0.95, stop=ANSWER_ENDS)


@dataclass(frozen=True, slots=True)
class Solution:
    """The answer, what is known about it, and what it cost.

    Attributes:
        code: the chosen program; only ``verdict`` says whether it may be relied on.
        attempt_id: the attempt that it is; None when the task contradicts itself and nothing was tried.
        attempts: all attempts, in the order in which they were judged.
        first_verdict_s: seconds until the first attempt was judged.
        tokens_per_s: written tokens per second of model time.
        stopped_by: why the search ended.
    """

    code: str
    verdict: Verdict
    attempt_id: str | None
    attempts: tuple[Attempt, ...]
    usage: Usage
    first_verdict_s: float
    elapsed_s: float
    tokens_per_s: float
    stopped_by: StopReason


def solve(
    task: TaskSpec,
    generator: Generator,
    verifier: Verifier,
    trace: Trace,
    *,
    seed: int = 0,
    on_token: OnToken | None = None,
    clock: Clock = time.monotonic,
) -> Solution:
    """Answer a task within its budget.

    Args:
        task: what is asked, with its evidence and its budget.
        generator: writes the candidates.
        verifier: judges them.
        trace: gets every decision; the caller opens and closes it.
        seed: of the sampled candidates and of the verifier's inputs.
        on_token: called with every token; its ``candidate`` n belongs to attempt ``a<n>``.
        clock: monotonic seconds.

    Raises:
        BudgetError: the budget ended before a single answer was finished.
        ArmillaryError: the model failed on every candidate, or as ``generator.stream`` says.
    """
    search = _Search(task, generator, verifier, trace, seed, on_token, Ledger(task.budget, clock))
    messages = first_messages(task)

    # 1. Write down what is asked, and of whom.
    search.record_start()

    # 2. A task that contradicts itself has no answer: say so before a token is spent.
    verdict = search.judge_task()
    if verdict.status == Status.SPEC_SUSPECT:
        return search.answer(None, verdict, StopReason.SPEC_SUSPECT)

    # 3. Propose the likeliest answer, then varied ones. Each is verified as it arrives; the model waits.
    stop = search.explore(messages, GREEDY, 1)
    if stop is None:
        varied = replace(VARIED, seed=seed)
        stop = search.explore(messages, varied, task.budget.num_candidates - 1)
    search.require_attempts()

    # 4. Select by hard evidence, then agreement.
    incumbent = search.choose(search.attempts)

    # 5. Revise with the smallest counterexample, until accepted, out of rounds or out of budget.
    num_rounds = 0
    while stop is None and (stop := search.reason_to_stop(incumbent, num_rounds)) is None:
        num_rounds += 1
        incumbent, stop = search.revise(incumbent, num_rounds)

    # 6. Answer, or hand back the best attempt under the verdict that it got.
    assert stop is not None
    return search.answer(incumbent, incumbent.verdict, stop)


@dataclass(slots=True)
class _Search:
    """State of one call of :func:`solve`: what was tried, what it cost."""

    task: TaskSpec
    generator: Generator
    verifier: Verifier
    trace: Trace
    seed: int
    on_token: OnToken | None
    ledger: Ledger
    attempts: list[Attempt] = field(default_factory=list)
    num_requested: int = 0
    num_unbooked_tokens: int = 0
    first_verdict_s: float = 0.0
    model_errors: list[str] = field(default_factory=list)
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def record_start(self) -> None:
        model = self.generator.model
        header: dict[str, Json] = {
            "format": FORMAT_VERSION,
            "armillary": importlib.metadata.version("armillary"),
            "python": platform.python_version(),
            "model": {"name": model.name, "sha256": model.sha256},
            "sandbox_tier": self.verifier.sandbox_tier,
            "seed": self.seed,
        }
        self.trace.append("header", header)
        self.trace.append("task", task_to_json(self.task))

    def judge_task(self) -> Verdict:
        """The verdict on no code at all: only the task itself can be found wanting by it, or the code."""
        return self._verify("")

    def explore(
        self,
        messages: tuple[Message, ...],
        sampling: Sampling,
        num_candidates: int,
        round_number: int = 0,
        parent: str | None = None,
    ) -> StopReason | None:
        """Run one request and judge its candidates; the reason to stop the search, if it gave one."""
        if num_candidates <= 0:
            return None
        if self.ledger.is_out_of_time():
            return StopReason.SECONDS
        allowance = self.ledger.allow(messages, num_candidates)
        if allowance.num_candidates == 0:
            return StopReason.TOKENS
        request = Request(
            messages,
            replace(sampling, max_tokens=allowance.max_tokens),
            allowance.num_candidates,
            max_seconds=self.task.budget.max_seconds - self.ledger.elapsed_s,
        )
        self.trace.append("proposal", _proposal_to_json(request, round_number, parent))
        return self._run(request, round_number, parent)

    def _run(self, request: Request, round_number: int, parent: str | None) -> StopReason | None:
        first = self.num_requested
        self.num_requested += request.num_candidates
        self.num_unbooked_tokens = 0
        drafts = propose(
            self.generator,
            request,
            self.task.entry_point,
            first_candidate=first,
            on_token=self._on_token,
            should_stop=self.ledger.is_out_of_time,
        )
        with closing(drafts):
            for draft in drafts:
                self.num_unbooked_tokens -= draft.num_streamed_tokens
                self.ledger.spend(draft.usage)
                if draft.finish_reason == "cancelled":
                    continue
                attempt = self._judge(draft, round_number, parent)
                if attempt.verdict.status == Status.SPEC_SUSPECT:
                    stop: StopReason | None = StopReason.SPEC_SUSPECT
                    break
            else:
                stop = StopReason.SECONDS if self.ledger.is_out_of_time() else None
        # Candidates that were cut off never reported their cost.
        self.ledger.spend(Usage(completion_tokens=self.num_unbooked_tokens))
        return stop

    def _on_token(self, token: Token) -> None:
        self.num_unbooked_tokens += 1
        if self.on_token is not None:
            self.on_token(token)

    def _judge(self, draft: Draft, round_number: int, parent: str | None) -> Attempt:
        name = f"a{draft.candidate}"
        code = assemble(self.task, draft.code)
        num_tokens = draft.usage.completion_tokens
        body: dict[str, Json] = {
            "id": name,
            "round": round_number,
            "parent": parent,
            "text": draft.text,
            "code": code,
            "finish_reason": draft.finish_reason,
            "tokens": num_tokens,
        }
        if draft.finish_reason == "error":
            body["error"] = draft.error
            self.model_errors.append(draft.error)
        self.trace.append("attempt", body)
        verdict = self._verify(code)
        self.trace.append("verdict", {"attempt": name, "verdict": verdict_to_json(verdict)})
        attempt = Attempt(name, round_number, parent, code, verdict, num_tokens, draft.mean_logprob)
        if not self.attempts:
            self.first_verdict_s = self.ledger.elapsed_s
        self.attempts.append(attempt)
        return attempt

    def _verify(self, code: str) -> Verdict:
        if code not in self.verdicts:
            with self.ledger.checking():
                self.verdicts[code] = self.verifier.verify(self.task, code, seed=self.seed)
        return self.verdicts[code]

    def require_attempts(self) -> None:
        """Raise unless there is something to choose from."""
        budget = self.task.budget
        if not self.attempts:
            needed = estimate_tokens(first_messages(self.task)) + MIN_ANSWER_TOKENS
            raise BudgetError(
                f"no answer was finished within {budget.max_tokens} tokens and {budget.max_seconds:g} s",
                hint=f"raise the task's budget; its prompt and a short answer need about {needed} tokens",
            )
        has_accepted = any(attempt.verdict.is_accepted for attempt in self.attempts)
        if len(self.model_errors) == len(self.attempts) and not has_accepted:
            raise ArmillaryError(f"the model failed on all {len(self.attempts)} candidates: {self.model_errors[0]}")

    def choose(self, attempts: Sequence[Attempt]) -> Attempt:
        rivals = contenders(attempts)
        selection = select(rivals, self._behaviours(rivals))
        self.trace.append("selection", _selection_to_json(selection))
        return selection.chosen

    def _behaviours(self, rivals: Sequence[Attempt]) -> list[str]:
        codes = [attempt.code for attempt in rivals]
        if len(set(codes)) == 1 or rivals[0].verdict.status in (Status.REFUTED, Status.SPEC_SUSPECT):
            return codes
        with self.ledger.checking():
            return self.verifier.behaviours(self.task, codes, seed=self.seed)

    def reason_to_stop(self, incumbent: Attempt, num_rounds: int) -> StopReason | None:
        if incumbent.verdict.is_accepted:
            return StopReason.ACCEPTED
        if incumbent.verdict.status != Status.REFUTED and not self.task.has_hard_evidence:
            return StopReason.NO_EVIDENCE
        if not self._refuted():
            return StopReason.UNDECIDED
        return StopReason.ROUNDS if num_rounds >= self.task.budget.max_rounds else None

    def _refuted(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.verdict.status == Status.REFUTED]

    def revise(self, incumbent: Attempt, round_number: int) -> tuple[Attempt, StopReason | None]:
        """One round of revisions; the incumbent stays unless a revision keeps all its hard evidence and adds some."""
        parent = incumbent
        if incumbent.verdict.status != Status.REFUTED:
            # Nothing is known against it, so there is nothing that it could be told; the best refuted one can learn.
            refuted = self._refuted()
            parent = select(refuted, [attempt.code for attempt in refuted]).chosen
        messages = revision_messages(self.task, parent.code, parent.verdict)
        varied = replace(VARIED, seed=self.seed + round_number)
        num_before = len(self.attempts)
        num_candidates = max(1, self.task.budget.num_candidates // 2)
        stop = self.explore(messages, varied, num_candidates, round_number, parent.id)
        revisions = self.attempts[num_before:]
        if not revisions:
            return incumbent, stop
        better = [attempt for attempt in revisions if accepts(incumbent.verdict, attempt.verdict)]
        best = self.choose(better or revisions)
        body: dict[str, Json] = {
            "incumbent": incumbent.id,
            "revision": best.id,
            "accepted": bool(better),
            "why": why_decided(incumbent.verdict, best.verdict),
        }
        self.trace.append("revision", body)
        return (best if better else incumbent), stop

    def answer(self, chosen: Attempt | None, verdict: Verdict, stop: StopReason) -> Solution:
        usage, elapsed_s = self.ledger.usage, self.ledger.elapsed_s
        body: dict[str, Json] = {
            "attempt": chosen.id if chosen else None,
            "status": verdict.status.value,
            "why": verdict.reason,
            "usage": {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens},
            "elapsed_s": round(elapsed_s, 3),
            "stopped_by": stop.value,
        }
        self.trace.append("answer", body)
        return Solution(
            code=chosen.code if chosen else "",
            verdict=verdict,
            attempt_id=chosen.id if chosen else None,
            attempts=tuple(self.attempts),
            usage=usage,
            first_verdict_s=self.first_verdict_s,
            elapsed_s=elapsed_s,
            tokens_per_s=self.ledger.tokens_per_s,
            stopped_by=stop,
        )


def _proposal_to_json(request: Request, round_number: int, parent: str | None) -> dict[str, Json]:
    return {
        "round": round_number,
        "num_candidates": request.num_candidates,
        "parent": parent,
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": {**asdict(request.sampling), "stop": list(request.sampling.stop)},
    }


def _selection_to_json(selection: Selection) -> dict[str, Json]:
    return {
        "chosen": selection.chosen.id,
        "clusters": [list(ids) for ids in selection.clusters],
        "why": selection.why,
    }
