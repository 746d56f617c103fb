"""One search for an answer: what was tried, what each step asks of model and verifier, what it cost.

Writes every decision to the trace. The order of the steps is ``loop``'s.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace

from armillary.core.errors import ArmillaryError, BudgetError
from armillary.core.messages import Message, Request, Sampling, Token, Usage
from armillary.core.protocols import Generator, Verifier
from armillary.core.tasks import Example, TaskSpec, task_to_json
from armillary.core.trace import FORMAT_VERSION, Trace
from armillary.core.values import Json, encode
from armillary.core.verdicts import Check, Status, Verdict, verdict_to_json
from armillary.reason.assemble import assemble
from armillary.reason.budget import MIN_ANSWER_TOKENS, Ledger, StopReason, estimate_tokens
from armillary.reason.evidence import Evidence, evidence_for, evidence_to_json
from armillary.reason.propose import Draft, OnToken, first_messages, propose
from armillary.reason.revise import accepts, revision_messages, why_decided
from armillary.reason.select import Attempt, Selection, contenders, select, standing
from armillary.reason.soft_tests import NUM_VOTES, VOTING, distinct, read_vote, vote_messages

# What small models write after the function is asked for by nobody: an explanation, a demonstration, tests. A closing
# fence is told from an opening one by the empty line behind it. Four, because some servers take no more.
ANSWER_ENDS = ("\n```\n\n", "\nif __name__", "\nprint(", "\nassert ")
GREEDY = Sampling(temperature=0.0, stop=ANSWER_ENDS)
VARIED = Sampling(temperature=0.8, top_p=0.95, stop=ANSWER_ENDS)
# First proposals come in waves, until those that pass agree: the greedy answer, then so many, the last over again.
WAVES = (3, 4, 8)
# What all of the model's own tests together weigh, in attempts.
SOFT_WEIGHT = 2.0


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
        verdicts, fingerprints: by code, so that nothing is judged twice.
        selection: the last choice that was made.
        soft: behaviour -> the model's own tests on it.
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
    fingerprints: dict[str, str] = field(default_factory=dict)
    selection: Selection | None = None
    soft: dict[str, tuple[Check, ...]] = field(default_factory=dict)

    def record_start(self) -> None:
        """Write down who is asked what, and under which conditions."""
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

    def propose_all(self, messages: tuple[Message, ...]) -> StopReason | None:
        """First proposals, wave by wave, until they agree or are as many as the budget allows."""
        stop = self.explore(messages, GREEDY, 1)
        for first, count in _waves(self.task.budget.num_candidates - 1):
            if stop is not None or (self.attempts and self.is_settled()):
                break
            stop = self.explore(messages, replace(VARIED, seed=self.seed), count, first_candidate=first)
        return stop

    def is_settled(self) -> bool:
        """Whether the attempts that may be relied on agree so well that more of them would change nothing."""
        rivals = contenders(self.attempts)
        return rivals[0].verdict.is_accepted and select(rivals, self._behaviours(rivals)).is_settled

    def explore(
        self,
        messages: tuple[Message, ...],
        sampling: Sampling,
        num_candidates: int,
        round_number: int = 0,
        parent: str | None = None,
        first_candidate: int = 0,
    ) -> StopReason | None:
        """Run one request and judge its candidates; the reason to stop the search, if it gave one."""
        if self.ledger.is_out_of_time():
            return StopReason.SECONDS
        allowance = self.ledger.allow(messages, num_candidates)
        if allowance.num_candidates == 0:
            return StopReason.TOKENS
        request = Request(
            messages,
            replace(sampling, max_tokens=allowance.max_tokens),
            allowance.num_candidates,
            first_candidate,
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

    def choose(self, attempts: Sequence[Attempt], votes: Mapping[str, float] | None = None) -> Attempt:
        """The best of some attempts; ``votes`` are what the model's own tests add to a behaviour."""
        rivals = contenders(attempts)
        self.selection = select(rivals, self._behaviours(rivals), votes)
        self.trace.append("selection", _selection_to_json(self.selection))
        return self.selection.chosen

    def hear_model(self, incumbent: Attempt) -> Attempt:
        """Where accepted attempts differ, ask the model what is right on the inputs that tell them apart."""
        if self.selection is None or len(self.selection.clusters) == 1 or not incumbent.verdict.is_accepted:
            return incumbent
        by_id = {attempt.id: attempt for attempt in self.attempts}
        leaders = [by_id[ids[0]] for ids in self.selection.clusters]
        codes = [attempt.code for attempt in leaders]
        with self.ledger.checking():
            inputs = self.verifier.telling_inputs(self.task, codes, seed=self.seed)
        votes = [vote for arguments in inputs for vote in self._ask_votes(arguments)]
        if not votes:
            return incumbent
        tests = distinct(votes)
        with self.ledger.checking():
            checks = [
                self.verifier.soft_checks(self.task, code, [test for test, _ in tests], seed=self.seed)
                for code in codes
            ]
        behaviours = self._behaviours(leaders)
        gains = {
            behaviour: SOFT_WEIGHT
            * sum(count for check, (_, count) in zip(row, tests, strict=True) if check.passed)
            / len(votes)
            for behaviour, row in zip(behaviours, checks, strict=True)
        }
        self.trace.append(
            "votes", _votes_to_json(inputs, tests, dict(zip((a.id for a in leaders), checks, strict=True)))
        )
        self.soft = dict(zip(behaviours, checks, strict=True))
        return self.choose(self.attempts, gains)

    def _ask_votes(self, arguments: Json) -> list[Example]:
        """What the model says one call must give, as often as it was asked and understood."""
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
        votes = []
        with closing(drafts):
            for draft in drafts:
                self.ledger.spend(draft.usage)
                vote = read_vote(self.task, arguments, draft.text)
                if vote is not None:
                    votes.append(vote)
        return votes

    def _behaviours(self, rivals: Sequence[Attempt]) -> list[str]:
        codes = [attempt.code for attempt in rivals]
        if len(set(codes)) == 1 or rivals[0].verdict.status in (Status.REFUTED, Status.SPEC_SUSPECT):
            return codes
        unknown = list(dict.fromkeys(code for code in codes if code not in self.fingerprints))
        with self.ledger.checking():
            found = self.verifier.behaviours(self.task, unknown, seed=self.seed) if unknown else []
        self.fingerprints |= dict(zip(unknown, found, strict=True))
        return [self.fingerprints[code] for code in codes]

    def reason_to_stop(self, incumbent: Attempt, num_rounds: int) -> StopReason | None:
        """Why no further revision is worth its cost, or None."""
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
        messages = revision_messages(self.task, parent.code, parent.verdict, self._last_steps(parent))
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

    def _last_steps(self, attempt: Attempt) -> tuple[str, ...]:
        found = attempt.verdict.counterexample
        if found is None:
            return ()
        with self.ledger.checking():
            return self.verifier.last_steps(self.task, attempt.code, found.arguments, seed=self.seed)

    def _evidence(self, chosen: Attempt, verdict: Verdict) -> Evidence:
        """What speaks for the answer: its own verdict, and the first proposals that behave like it."""
        first = [attempt for attempt in self.attempts if attempt.round == 0]
        alike = [attempt for attempt in first if standing(attempt.verdict) == standing(verdict)]
        behaviours = self._behaviours([chosen, *alike])
        num_agreeing = sum(item == behaviours[0] for item in behaviours[1:])
        soft = self.soft.get(behaviours[0], ())
        return evidence_for(
            replace(verdict, checks=verdict.checks + soft), num_agreeing=num_agreeing, num_rivals=len(first)
        )

    def answer(self, chosen: Attempt | None, verdict: Verdict, stop: StopReason) -> Solution:
        """Write the end of the trace and hand over what was found."""
        evidence = None if chosen is None else self._evidence(chosen, verdict)
        usage, elapsed_s = self.ledger.usage, self.ledger.elapsed_s
        body: dict[str, Json] = {
            "evidence": None if evidence is None else evidence_to_json(evidence),
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
            evidence=evidence,
        )


def _waves(total: int) -> Iterator[tuple[int, int]]:
    """First number and size of each wave of sampled proposals."""
    sizes = itertools.chain(WAVES, itertools.repeat(WAVES[-1]))
    first = 0
    while first < total:
        count = min(next(sizes), total - first)
        yield first, count
        first += count


def _proposal_to_json(request: Request, round_number: int, parent: str | None) -> dict[str, Json]:
    return {
        "round": round_number,
        "num_candidates": request.num_candidates,
        "parent": parent,
        "first_candidate": request.first_candidate,
        "messages": [[message.role, message.content] for message in request.messages],
        "sampling": {**asdict(request.sampling), "stop": list(request.sampling.stop)},
    }


def _selection_to_json(selection: Selection) -> dict[str, Json]:
    return {
        "chosen": selection.chosen.id,
        "clusters": [list(ids) for ids in selection.clusters],
        "share": round(selection.share, 4),
        "why": selection.why,
    }


def _votes_to_json(
    inputs: Sequence[Json], tests: Sequence[tuple[Example, int]], checks: Mapping[str, Sequence[Check]]
) -> dict[str, Json]:
    return {
        "inputs": list(inputs),
        "tests": [[encode(test.arguments), encode(test.expected), test.raises, count] for test, count in tests],
        "passed": {name: [check.passed for check in row] for name, row in checks.items()},
    }
