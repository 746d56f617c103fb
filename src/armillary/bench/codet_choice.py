"""Choose one of a problem's recorded programs by several rules. Runs nothing: every program was judged before.

The loop's own rule is ``reason.decisions``, which is handed the judgements as a verifier that looks them up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from armillary.bench.codet_judge import JudgedProblem
from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import Json, canonical
from armillary.core.verdicts import Behaviour, Check, Status, Verdict
from armillary.reason.decisions import Decisions, leaders_of
from armillary.reason.select import Attempt, Selection
from armillary.reason.soft_tests import distinct

Rule = Callable[[JudgedProblem, int], int | None]


class KnownVerifier:
    """Answers from the judgements of one problem's programs; satisfies ``core.protocols.Verifier``."""

    def __init__(self, problem: JudgedProblem) -> None:
        self._known = dict(zip(problem.programs, problem.judgements, strict=True))
        self._numbers = {_key(test): number for number, test in enumerate(problem.tests)}

    @property
    def sandbox_tier(self) -> str:
        """None: nothing runs."""
        return "none"

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        """The program's verdict."""
        return self._known[code].verdict

    def behaviours(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> list[Behaviour]:
        """What the programs do."""
        return [self._known[code].behaviour for code in codes]

    def telling_inputs(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> tuple[Json, ...]:
        """None are known: the recorded tests were written before there were programs to tell apart."""
        return ()

    def soft_checks(
        self, task: TaskSpec, code: str, examples: Sequence[Example], *, seed: int = 0
    ) -> tuple[Check, ...]:
        """Which of the recorded tests the program passes."""
        passed = self._known[code].passed
        numbers = [self._numbers[_key(example)] for example in examples]
        return tuple(Check(f"model_examples[{n}]", "agreement", "model", passed[n]) for n in numbers)

    def last_steps(self, task: TaskSpec, code: str, arguments: Json, *, seed: int = 0) -> tuple[str, ...]:
        """None are known."""
        return ()


def first_passing(problem: JudgedProblem, num_samples: int) -> int | None:
    """The first sample that passes its prompt's examples; the very first where none does, or there are none."""
    accepted = (n for n in range(num_samples) if problem.judgements[n].verdict.is_accepted)
    return next(accepted, 0)


def by_agreement(problem: JudgedProblem, num_samples: int) -> int | None:
    """The loop's choice before the model's tests are heard."""
    return _number(_decisions(problem).choose(_attempts(problem, num_samples)))


def by_model_tests(problem: JudgedProblem, num_samples: int) -> int | None:
    """The loop's choice: where samples that pass differ, the tests that the same model wrote have votes."""
    decisions, attempts = _decisions(problem), _attempts(problem, num_samples)
    selection = decisions.choose(attempts)
    if decisions.needs_hearing(selection):
        votes = [problem.tests[number] for text in problem.texts[:num_samples] for number in text]
        hearing = decisions.weigh(leaders_of(selection, attempts), distinct(votes))
        selection = decisions.choose(attempts, hearing.gains)
    return _number(selection)


def by_dual_agreement(problem: JudgedProblem, num_samples: int) -> int | None:
    """CodeT's choice: samples that pass the same tests count by the root of their number, times that of the tests."""
    votes = Counter(number for text in problem.texts[:num_samples] for number in text)
    passed = [
        tuple(number for number in sorted(votes) if item.passed[number]) for item in problem.judgements[:num_samples]
    ]
    sizes = Counter(passed)

    def score(sample: int) -> float:
        numbers = passed[sample]
        return math.sqrt(sizes[numbers]) * sum(votes[number] for number in numbers)

    return max(range(num_samples), key=score)


def _decisions(problem: JudgedProblem) -> Decisions:
    return Decisions(problem.task, KnownVerifier(problem), seed=0)


def _attempts(problem: JudgedProblem, num_samples: int) -> list[Attempt]:
    """The first samples; none bears the name of the likeliest answer, as there is none among them."""
    pairs = list(zip(problem.programs, problem.judgements, strict=True))[:num_samples]
    return [Attempt(f"s{number}", 0, None, code, item.verdict, 0) for number, (code, item) in enumerate(pairs)]


def _number(selection: Selection) -> int | None:
    """The sample that was chosen; none where the docstring contradicts itself, as the loop answers nothing then."""
    is_void = selection.chosen.verdict.status == Status.SPEC_SUSPECT
    return None if is_void else int(selection.chosen.id[1:])


def _key(test: Example) -> str:
    return canonical((test.arguments, test.expected))
