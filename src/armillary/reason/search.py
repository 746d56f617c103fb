"""One search for an answer: what was tried, what each step asks of model and verifier, what it cost.

Writes every decision to the trace. The order of the steps is ``loop``'s, the decisions themselves are ``decisions``'.
"""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

from armillary.core.errors import ArmillaryError, BudgetError
from armillary.core.messages import Message, Request, Token, Usage
from armillary.core.protocols import Generator, Verifier
from armillary.core.tasks import TaskSpec, task_to_json
from armillary.core.trace import FORMAT_VERSION, Trace
from armillary.core.values import Json
from armillary.core.verdicts import Behaviour, Status, Verdict, verdict_to_json
from armillary.reason.assemble import assemble
from armillary.reason.budget import MIN_ANSWER_TOKENS, TIME_DIGITS, Ledger, StopReason, estimate_tokens
from armillary.reason.decisions import Decisions, leaders_of, settles
from armillary.reason.events import (
    RULES,
    answer_to_json,
    attempt_id,
    attempt_to_json,
    confidence,
    hearing_to_json,
    proposal_to_json,
    revision_to_json,
    selection_to_json,
)
from armillary.reason.evidence import Evidence
from armillary.reason.first_requests import VARIED, next_request
from armillary.reason.propose import Draft, OnToken, first_messages, propose
from armillary.reason.revise import accepts, revision_messages
from armillary.reason.select import Attempt, Selection
from armillary.reason.soft_tests import NUM_VOTES, VOTING, Answer, vote_messages


@dataclass(frozen=True, slots=True)
class Solution:
    """The answer, what is known about it, and what it cost.

    Attributes:
        code: the chosen program; only ``verdict`` says whether it may be relied on.
        attempt_id: the attempt that it is; None when the task contradicts itself and nothing was tried.
        attempts: all attempts, in the order in which they were judged.
        evidence: how much speaks for it, as numbers; None when nothing was tried.
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
    evidence: Evidence | None = None


@dataclass(slots=True)
class Search:
    """State of one call of ``loop.solve``.

    Attributes:
        attempts: all that were judged, in that order.
        num_requested: candidates asked for so far; they number the attempts.
        verdicts: by code, so that nothing is judged twice.
        selection: the last choice that was made.
    """

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
    selection: Selection | None = None
    decisions: Decisions = field(init=False)

    def __post_init__(self) -> None:
        self.decisions = Decisions(self.task, self.verifier, self.seed)

    def record_start(self) -> None:
        """Write down who is asked what, and under which conditions."""
        model = self.generator.model
        header: dict[str, Json] = {
            "format": FORMAT_VERSION,
            "rules": RULES,
            "armillary": importlib.metadata.version("armillary"),
            "python": platform.python_version(),
            "model": {"name": model.name, "sha256": model.sha256},
            "sandbox_tier": self.verifier.sandbox_tier,
            "seed": self.seed,
            "load_s": round(self.ledger.load_s, TIME_DIGITS) or None,
        }
        self.trace.append("header", header)
        self.trace.append("task", task_to_json(self.task))

    def _record(self, kind: str, body: dict[str, Json]) -> None:
        """Write an event, with the seconds that went by since the one before."""
        self.trace.append(kind, body | {"times": self.ledger.lap()})

    def judge_task(self) -> Verdict:
        """The verdict on no code at all: only the task itself can be found wanting by it, or the code."""
        return self._verify("")

    def propose_all(self) -> StopReason | None:
        """First proposals, wave by wave, until they agree or are as many as the budget allows."""
        stop = None
        while stop is None and (request := self._next_request()) is not None:
            stop = self.explore(request)
        return stop

    def _next_request(self) -> Request | None:
        if self.attempts and self.decisions.is_settled(self.attempts):
            return None
        codes = [attempt.code for attempt in self.attempts]
        return next_request(self.task, codes, num_asked=self.num_requested, seed=self.seed)

    def explore(self, request: Request, round_number: int = 0, parent: str | None = None) -> StopReason | None:
        """Run one request within the budget and judge its candidates; the reason to stop the search, if it gave one."""
        if self.ledger.is_out_of_time():
            return StopReason.SECONDS
        allowance = self.ledger.allow(request.messages, request.num_candidates)
        if allowance.num_candidates == 0:
            return StopReason.TOKENS
        request = replace(
            request,
            sampling=replace(request.sampling, max_tokens=allowance.max_tokens),
            num_candidates=allowance.num_candidates,
            max_seconds=self.task.budget.max_seconds - self.ledger.elapsed_s,
        )
        self._record("proposal", proposal_to_json(request, round_number, parent))
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
        name, code = attempt_id(draft), assemble(self.task, draft.code)
        if draft.finish_reason == "error":
            self.model_errors.append(draft.error)
        self._record("attempt", attempt_to_json(draft, code, round_number, parent))
        verdict = self._verify(code)
        self._record("verdict", {"attempt": name, "verdict": verdict_to_json(verdict)})
        attempt = Attempt(name, round_number, parent, code, verdict, draft.usage.completion_tokens, confidence(draft))
        if not self.attempts:
            self.first_verdict_s = self.ledger.elapsed_s
        self.attempts.append(attempt)
        return attempt

    def _verify(self, code: str) -> Verdict:
        if code not in self.verdicts:
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

    def choose(self, votes: Mapping[Behaviour, float] | None = None) -> Attempt:
        """The best attempt so far; ``votes`` are what the model's own tests add to a behaviour."""
        self.selection = self.decisions.choose(self.attempts, votes)
        self._record_selection(self.selection)
        return self.selection.chosen

    def _record_selection(self, selection: Selection) -> None:
        self._record("selection", selection_to_json(selection, is_settled=settles(selection)))

    def hear_model(self, incumbent: Attempt) -> Attempt:
        """Where accepted attempts differ, ask the model what is right on the inputs that tell them apart."""
        if self.selection is None or not self.decisions.needs_hearing(self.selection):
            return incumbent
        leaders = leaders_of(self.selection, self.attempts)
        inputs = self.decisions.telling_inputs(leaders)
        answers = [item for place, arguments in enumerate(inputs) for item in self._ask(place, arguments)]
        hearing = self.decisions.hear(leaders, inputs, answers)
        self._record("votes", hearing_to_json(hearing))
        return self.choose(hearing.gains) if hearing.tests else incumbent

    def _ask(self, place: int, arguments: Json) -> list[Answer]:
        """What the model says one call must give, as often as the budget allows to ask."""
        messages = vote_messages(self.task, arguments)
        allowance = self.ledger.allow(messages, NUM_VOTES)
        if allowance.num_candidates == 0 or self.ledger.is_out_of_time():
            return []
        request = Request(
            messages,
            replace(VOTING, seed=self.seed),
            allowance.num_candidates,
            max_seconds=self.task.budget.max_seconds - self.ledger.elapsed_s,
        )
        drafts = propose(self.generator, request, self.task.entry_point, should_stop=self.ledger.is_out_of_time)
        answers = []
        with closing(drafts):
            for draft in drafts:
                self.ledger.spend(draft.usage)
                answers.append(Answer(place, draft.text, draft.usage.completion_tokens, draft.finish_reason))
        return answers

    def reason_to_stop(self, incumbent: Attempt, num_rounds: int) -> StopReason | None:
        """Why no further revision is worth its cost, or None."""
        return self.decisions.reason_to_stop(incumbent, self.attempts, num_rounds)

    def revise(self, incumbent: Attempt, round_number: int) -> tuple[Attempt, StopReason | None]:
        """One round of revisions; the incumbent stays unless a revision keeps all its hard evidence and adds some."""
        parent = self.decisions.to_revise(incumbent, self.attempts)
        messages = self._revision_messages(parent)
        varied = replace(VARIED, seed=self.seed + round_number)
        num_before = len(self.attempts)
        num_candidates = max(1, self.task.budget.num_candidates // 2)
        stop = self.explore(Request(messages, varied, num_candidates), round_number, parent.id)
        revisions = self.attempts[num_before:]
        if not revisions:
            return incumbent, stop
        selection = self.decisions.best_revision(incumbent, revisions)
        self._record_selection(selection)
        best = selection.chosen
        self._record("revision", revision_to_json(incumbent, best))
        return (best if accepts(incumbent.verdict, best.verdict) else incumbent), stop

    def _revision_messages(self, parent: Attempt) -> tuple[Message, ...]:
        """Show the model its mistake; where that was done in vain, ask from the start again, and in another way."""
        if any(attempt.parent == parent.id for attempt in self.attempts):
            return first_messages(self.task, in_steps=True)
        return revision_messages(self.task, parent.code, parent.verdict, self._last_steps(parent))

    def _last_steps(self, attempt: Attempt) -> tuple[str, ...]:
        found = attempt.verdict.counterexample
        if found is None:
            return ()
        return self.verifier.last_steps(self.task, attempt.code, found.arguments, seed=self.seed)

    def answer(self, chosen: Attempt | None, verdict: Verdict, stop: StopReason) -> Solution:
        """Write the end of the trace and hand over what was found."""
        evidence = None
        if chosen is not None:
            verdict, evidence = self.decisions.conclude(chosen, self.attempts)
        usage, elapsed_s = self.ledger.usage, self.ledger.elapsed_s
        cost: dict[str, Json] = {
            "usage": {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens},
            "elapsed_s": round(elapsed_s, 3),
            "cores": self.ledger.cores(),
            "stopped_by": stop.value,
        }
        self._record("answer", answer_to_json(chosen, verdict, evidence) | cost)
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
            evidence=evidence,
        )
