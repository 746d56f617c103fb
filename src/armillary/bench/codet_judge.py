"""Judge every recorded program once, and keep what was found, so that rules of choice are compared in seconds.

One record per problem, found again by its evidence and by the judge's own source; in it, programs are found by their
hash. Chooses nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armillary.bench.codet import RecordedProblem
from armillary.bench.rows import append_record, read_records
from armillary.bench.sources import NUM_HASH_CHARS, source_sha256
from armillary.core.errors import UsageError
from armillary.core.protocols import Verifier
from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import canonical
from armillary.core.verdicts import Behaviour, Check, Status, Verdict

# What a judgement depends on; rules of choice lie elsewhere, so that they may change.
JUDGING = (
    "verify/**/*.py",
    *("core/tasks.py", "core/values.py"),
    *("bench/codet_judge.py", "bench/graded.py", "bench/humaneval.py"),
)
# Of each word of a behaviour: enough to tell a hundred programs apart on a hundred inputs.
NUM_WORD_CHARS = 5

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that is known about one program.

    Attributes:
        verdict: on the task's own evidence; of its checks only the hard ones that passed.
        behaviour: what it does on generated inputs; empty where it was refuted, as nobody asks for it then.
        passed: for each of the problem's different recorded tests, whether it holds.
        is_right, is_right_by_base: what its user would like to know.
    """

    verdict: Verdict
    behaviour: Behaviour
    passed: tuple[bool, ...]
    is_right: bool
    is_right_by_base: bool


@dataclass(frozen=True, slots=True)
class JudgedProblem:
    """A recorded problem with a judgement for each of its programs.

    Attributes:
        task: what the loop would see.
        programs: one per sample.
        judgements: one per sample; equal programs share theirs.
        tests: the different recorded tests.
        texts: for each recorded text, which of the tests it holds.
    """

    id: str
    task: TaskSpec
    programs: tuple[str, ...]
    judgements: tuple[Judgement, ...]
    tests: tuple[Example, ...]
    texts: tuple[tuple[int, ...], ...]


def judge_all(
    recordings: Sequence[RecordedProblem], verifier: Verifier, path: Path, say: Say, *, num_threads: int = 1
) -> list[JudgedProblem]:
    """Judge what the file does not hold yet, problem by problem.

    Args:
        recordings: what to judge.
        verifier: judges by the prompts' examples, as in the loop.
        path: JSON lines; a problem is in it as soon as all its programs are judged.
        say: gets one line per problem.
        num_threads: programs that are judged at once.

    Raises:
        UsageError: the file holds a record of another form.
    """
    judge = f"{source_sha256(JUDGING)} tier {verifier.sandbox_tier}"
    known = {str(item.get("task_id")): item for item in read_records(path) if item.get("judge") == judge}
    found = []
    for number, item in enumerate(recordings, start=1):
        evidence = _evidence_sha256(item)
        record = known.get(item.problem.id, {})
        kept = _kept(record, path) if record.get("evidence") == evidence else {}
        missing = [code for code in dict.fromkeys(item.programs) if _sha256(code) not in kept]
        tests, texts = _numbered(item.tests)
        if missing:
            kept |= _judge_programs(item, verifier, missing, tests, num_threads)
            programs = {name: _to_json(judgement) for name, judgement in kept.items()}
            body = {"task_id": item.problem.id, "judge": judge, "evidence": evidence, "programs": programs}
            append_record(path, body)
        judgements = tuple(kept[_sha256(code)] for code in item.programs)
        found.append(JudgedProblem(item.problem.id, item.problem.task, item.programs, judgements, tests, texts))
        say(f"{number}/{len(recordings)} {_line(found[-1], num_new=len(missing))}")
    return found


def _judge_programs(
    item: RecordedProblem, verifier: Verifier, codes: Sequence[str], tests: Sequence[Example], num_threads: int
) -> dict[str, Judgement]:
    # What all programs share is made before there are threads, so that none of them writes it down.
    verifier.verify(item.problem.task, "")
    verifier.behaviours(item.problem.task, [])
    with ThreadPoolExecutor(num_threads) as pool:
        # Whatever interrupts this, Ctrl-C included, cancels the programs that have not been begun.
        found = list(pool.map(lambda code: _judge(item, verifier, code, tests), codes))
    return {_sha256(code): judgement for code, judgement in zip(codes, found, strict=True)}


def _judge(item: RecordedProblem, verifier: Verifier, code: str, tests: Sequence[Example]) -> Judgement:
    task = item.problem.task
    verdict = verifier.verify(task, code)
    has_rivals = verdict.status not in (Status.REFUTED, Status.SPEC_SUSPECT)
    checks = verifier.soft_checks(task, code, tests) if tests else ()
    return Judgement(
        verdict=_reduced(verdict.status, sorted(verdict.passed_hard)),
        behaviour=_short(verifier.behaviours(task, [code])[0]) if has_rivals else (),
        # Code that does not load gets no checks at all.
        passed=tuple(check.passed for check in checks) or (False,) * len(tests),
        is_right=item.problem.is_right(code),
        is_right_by_base=item.problem.is_right_by_base(code),
    )


def _short(behaviour: Behaviour) -> Behaviour:
    return tuple(word[:NUM_WORD_CHARS] for word in behaviour)


def _reduced(status: Status, passed_hard: Sequence[str]) -> Verdict:
    return Verdict(status, tuple(Check(name, "examples", "docstring", passed=True) for name in passed_hard))


def _numbered(groups: Sequence[Sequence[Example]]) -> tuple[tuple[Example, ...], tuple[tuple[int, ...], ...]]:
    """The different tests, and of each group which of them it holds."""
    numbers: dict[str, int] = {}
    tests: list[Example] = []
    texts = []
    for group in groups:
        row = []
        for test in group:
            number = numbers.setdefault(canonical((test.arguments, test.expected)), len(numbers))
            if number == len(tests):
                tests.append(test)
            row.append(number)
        texts.append(tuple(row))
    return tuple(tests), tuple(texts)


def _evidence_sha256(item: RecordedProblem) -> str:
    tests = [[canonical((test.arguments, test.expected)) for test in group] for group in item.tests]
    return _sha256(repr((item.problem.problem, tests)))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:NUM_HASH_CHARS]


def _to_json(item: Judgement) -> list[Any]:
    passed = "".join("01"[value] for value in item.passed)
    verdict = item.verdict
    return [
        verdict.status.value,
        sorted(verdict.passed_hard),
        " ".join(item.behaviour),
        passed,
        item.is_right,
        item.is_right_by_base,
    ]


def _kept(record: dict[str, Any], path: Path) -> dict[str, Judgement]:
    try:
        return {
            name: Judgement(
                _reduced(Status(status), names),
                tuple(behaviour.split()),
                tuple(bit == "1" for bit in passed),
                is_right,
                by_base,
            )
            for name, (status, names, behaviour, passed, is_right, by_base) in record["programs"].items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} holds a record of another form: {error!r}", hint="move it away") from error


def _line(item: JudgedProblem, *, num_new: int) -> str:
    accepted = [judged for judged in item.judgements if judged.verdict.is_accepted]
    return (
        f"{item.id}: {sum(judged.is_right for judged in item.judgements)} of {len(item.judgements)} samples right, "
        f"{len(accepted)} pass the examples, {len(item.tests)} tests by the model; {num_new} programs judged now"
    )
