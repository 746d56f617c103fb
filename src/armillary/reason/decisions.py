"""Decide what a search does next, from verdicts, behaviours and what the model said. Asks no model, writes no trace.

The search decides by this when it runs, and a replay when it derives the same decisions again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from armillary.core.protocols import Verifier
from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import Json
from armillary.core.verdicts import NO_VALUE, Behaviour, Check, Status, Verdict
from armillary.reason.budget import StopReason
from armillary.reason.evidence import Evidence, endorse, evidence_for
from armillary.reason.revise import accepts
from armillary.reason.select import Attempt, Selection, contenders, select, standing
from armillary.reason.soft_tests import Answer, Hearing, distinct, gains, read_answers


@dataclass(slots=True)
class Decisions:
    """The decisions of one search.

    Attributes:
        verifier: runs programs on shared inputs; each is run once.
        known: behaviour by code.
        soft: behaviour -> the model's own tests on it.
    """

    task: TaskSpec
    verifier: Verifier
    seed: int
    known: dict[str, Behaviour] = field(default_factory=dict)
    soft: dict[Behaviour, tuple[Check, ...]] = field(default_factory=dict)

    def behaviours(self, rivals: Sequence[Attempt]) -> list[Behaviour]:
        """That of each attempt; nothing runs where no comparison could decide."""
        codes = [attempt.code for attempt in rivals]
        if len(set(codes)) == 1 or rivals[0].verdict.status in (Status.REFUTED, Status.SPEC_SUSPECT):
            return [(code,) for code in codes]
        return self._observed(codes)

    def _observed(self, codes: Sequence[str]) -> list[Behaviour]:
        unknown = list(dict.fromkeys(code for code in codes if code not in self.known))
        found = self.verifier.behaviours(self.task, unknown, seed=self.seed) if unknown else []
        self.known |= dict(zip(unknown, found, strict=True))
        return [self.known[code] for code in codes]

    def _num_shared(self, chosen: Attempt) -> int:
        """Inputs on which an answer that only examples speak for gives a value; it is run even where all are equal."""
        if chosen.verdict.status != Status.EXAMPLES_PASS:
            return 0
        [behaviour] = self._observed([chosen.code])
        return sum(not word.startswith(NO_VALUE) for word in behaviour)

    def choose(self, attempts: Sequence[Attempt], votes: Mapping[Behaviour, float] | None = None) -> Selection:
        """The best of some attempts; ``votes`` are what the model's own tests add to a behaviour."""
        rivals = contenders(attempts)
        return select(rivals, self.behaviours(rivals), votes)

    def is_settled(self, attempts: Sequence[Attempt]) -> bool:
        """Whether the attempts that may be relied on agree so well that more of them would change nothing."""
        return contenders(attempts)[0].verdict.is_accepted and settles(self.choose(attempts))

    def needs_hearing(self, selection: Selection) -> bool:
        """Whether accepted attempts differ, so that the model is asked which of them is right."""
        return len(selection.clusters) > 1 and selection.chosen.verdict.is_accepted

    def telling_inputs(self, leaders: Sequence[Attempt]) -> tuple[Json, ...]:
        """Inputs on which the first attempt of each group does something else."""
        return self.verifier.telling_inputs(self.task, [item.code for item in leaders], seed=self.seed)

    def hear(self, leaders: Sequence[Attempt], inputs: Sequence[Json], answers: Sequence[Answer]) -> Hearing:
        """Read what the model said of some inputs, and see which groups pass it."""
        tests = distinct(read_answers(self.task, inputs, answers))
        return replace(self.weigh(leaders, tests), inputs=tuple(inputs), answers=tuple(answers))

    def weigh(self, leaders: Sequence[Attempt], tests: Sequence[tuple[Example, int]]) -> Hearing:
        """See which groups pass the model's own tests; remembered for the evidence."""
        examples = [test for test, _ in tests]
        checks = [
            self.verifier.soft_checks(self.task, item.code, examples, seed=self.seed) if tests else ()
            for item in leaders
        ]
        behaviours = self.behaviours(leaders)
        self.soft = dict(zip(behaviours, checks, strict=True))
        return Hearing(tuple(leaders), tuple(tests), tuple(checks), gains(behaviours, checks, tests))

    def reason_to_stop(self, incumbent: Attempt, attempts: Sequence[Attempt], num_rounds: int) -> StopReason | None:
        """Why no further revision is worth its cost, or None."""
        if incumbent.verdict.is_accepted:
            return StopReason.ACCEPTED
        if incumbent.verdict.status != Status.REFUTED and not self.task.has_hard_evidence:
            return StopReason.NO_EVIDENCE
        if not _refuted(attempts):
            return StopReason.UNDECIDED
        return StopReason.ROUNDS if num_rounds >= self.task.budget.max_rounds else None

    def to_revise(self, incumbent: Attempt, attempts: Sequence[Attempt]) -> Attempt:
        """The attempt that the model is shown with its counterexample."""
        if incumbent.verdict.status == Status.REFUTED:
            return incumbent
        # Nothing is known against it, so there is nothing that it could be told; the best refuted one can learn.
        refuted = _refuted(attempts)
        return select(refuted, self.behaviours(refuted)).chosen

    def best_revision(self, incumbent: Attempt, revisions: Sequence[Attempt]) -> Selection:
        """The best of a round's revisions, among those that may replace the incumbent, if there are any."""
        better = [attempt for attempt in revisions if accepts(incumbent.verdict, attempt.verdict)]
        return self.choose(better or revisions)

    def conclude(self, chosen: Attempt, attempts: Sequence[Attempt]) -> tuple[Verdict, Evidence]:
        """The verdict under which an attempt is handed over, and what speaks for it."""
        evidence = self._evidence(chosen, attempts, chosen.verdict)
        verdict = endorse(chosen.verdict, evidence)
        return verdict, replace(evidence, status=verdict.status)

    def _evidence(self, chosen: Attempt, attempts: Sequence[Attempt], verdict: Verdict) -> Evidence:
        """Its own verdict, and the first proposals that behave like it."""
        first = [attempt for attempt in attempts if attempt.round == 0]
        alike = [attempt for attempt in first if standing(attempt.verdict) == standing(verdict)]
        behaviours = self.behaviours([chosen, *alike])
        num_agreeing = sum(item == behaviours[0] for item in behaviours[1:])
        soft = self.soft.get(behaviours[0], ())
        return evidence_for(
            replace(verdict, checks=verdict.checks + soft),
            num_agreeing=num_agreeing,
            num_rivals=len(first),
            num_shared=self._num_shared(chosen),
        )


def settles(selection: Selection) -> bool:
    """Whether a choice may be relied on, and more attempts would hardly change it."""
    return selection.chosen.verdict.is_accepted and selection.is_settled


def leaders_of(selection: Selection, attempts: Sequence[Attempt]) -> list[Attempt]:
    """The first attempt of each group that behaves alike."""
    by_id = {attempt.id: attempt for attempt in attempts}
    return [by_id[ids[0]] for ids in selection.clusters]


def _refuted(attempts: Sequence[Attempt]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.verdict.status == Status.REFUTED]
