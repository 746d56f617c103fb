"""``armillary bench solve``: how many problems are answered right, how many wrong answers are shown as verified.

Runs the loop on HumanEval, MBPP or a folder of contest problems, whichever lies in the data folder, with what a user
would give as its only evidence, then judges every stage by tests that it never saw. Candidates are recorded, so that
the loop can be changed and measured again in minutes; times come from problems that the model answers anew. On CodeT's
recorded samples no model is asked: only the loop's choice among them is measured.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from armillary.bench import codet, codet_rows, contests, humaneval, mbpp
from armillary.bench.codet_judge import judge_all
from armillary.bench.graded import Graded
from armillary.bench.machine import MachineState, observe_machine, require_quiet
from armillary.bench.rows import RESULTS_FOLDER, Row, append_record, append_row, is_partial_run, read_records
from armillary.bench.solve_rows import NUM_MEAN_SAMPLES, TaskResult, summarise, summarise_together
from armillary.bench.solve_times import time_rows, timed
from armillary.bench.sources import source_sha256
from armillary.core.errors import NotFoundError, UsageError
from armillary.core.messages import Token
from armillary.core.protocols import Generator, Verifier
from armillary.core.settings import Settings, load_settings
from armillary.core.tasks import Budget, TaskSpec
from armillary.core.trace import Trace
from armillary.reason.assemble import assemble
from armillary.reason.budget import MAX_ANSWER_TOKENS
from armillary.reason.first_requests import next_request
from armillary.reason.loop import solve
from armillary.runtime import stack
from armillary.verify.extract import extract_code
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.verifier import CodeVerifier

QUICK_LIMIT = 5
NUM_TIMED = 20
BUDGET = Budget(num_candidates=16, max_rounds=2, max_tokens=48_000, max_seconds=900.0)
RECORDINGS_FOLDER = Path("benchmarks/recordings")
# What a result depends on besides the model and its texts: the local model's are recorded, a server's are not.
SOLVING = (
    *("core/**/*.py", "reason/**/*.py", "verify/**/*.py", "runtime/recorded.py"),
    *("bench/solve.py", "bench/solve_rows.py", "bench/graded.py"),
    *("bench/humaneval.py", "bench/mbpp.py", "bench/contests.py"),
)

Say = Callable[[str], None]
Load = Callable[..., Sequence[Graded]]


@dataclass(frozen=True, slots=True)
class DataSet:
    """Problems of one kind.

    Attributes:
        name: first part of its metrics.
        pattern: a file that tells a folder of it.
        load: (folder, jail, limit, budget=...) -> problems.
        num_problems: its full size.
        is_kept: whether answers to it may stand in the repository.
        removed_target: share of greedy errors that must be removed, or None.
        is_recorded: whether the answers lie in the folder, so that there is only a choice to be made.
    """

    name: str
    pattern: str
    load: Load
    num_problems: int
    is_kept: bool = True
    removed_target: float | None = None
    is_recorded: bool = False


DATA_SETS = (
    DataSet("humaneval", humaneval.BASE_FILE, humaneval.graded_problems, 164, removed_target=0.45),
    DataSet("mbpp", mbpp.FILE, mbpp.load_problems, 500, removed_target=0.35),
    DataSet("contests", contests.PATTERN, contests.load_problems, 180, is_kept=False),
    DataSet(codet_rows.NAME, codet.PATTERN, codet.load_problems, 164, is_recorded=True),
)


def run(*, quick: bool, data: Path | None, limit: int | None, noisy: bool) -> list[Row]:
    """Measure the model and the jail that the settings name, and append the rows to ``benchmarks/results/solve.jsonl``.

    Raises:
        UsageError: no data folder was given, or the machine is not quiet.
        NotFoundError: the folder holds no known data set.
    """
    if data is None:
        raise UsageError("this topic needs a data set", hint="pass --data DIR with HumanEval, MBPP or contest problems")
    data_set = find_data_set(data)
    machine = observe_machine()
    require_quiet(machine, is_noise_allowed=noisy)
    settings = load_settings()
    is_partial = is_partial_run(quick=quick, limit=limit, noisy=noisy, full_size=data_set.num_problems)
    blank = _blank_row(machine, is_partial=is_partial)
    size = limit or (QUICK_LIMIT if quick else None)
    if data_set.is_recorded:
        # What a busy machine made too slow must not stand where a quiet one looks it up.
        path = RECORDINGS_FOLDER / f"{codet_rows.NAME}-judged{'-noisy' if noisy else ''}.jsonl"
        with Sandbox(settings["sandbox.minimum_tier"], num_cores=blank.threads) as jail:
            return measure_recorded(data, jail, size, path=path, blank=blank)
    with Sandbox(settings["sandbox.minimum_tier"], num_cores=blank.threads) as jail:
        problems = data_set.load(data, jail, size, budget=BUDGET)
        verifier = CodeVerifier(jail)
        model, live = _models(data_set, settings)
        rows = measure(data_set, model, verifier, problems, blank=blank)
        timings = timed(live, verifier, problems[:NUM_TIMED])
        return rows + _kept(time_rows(data_set.name, timings, blank), RESULTS_FOLDER)


def find_data_set(folder: Path) -> DataSet:
    """Which of the known data sets lies in a folder.

    Raises:
        NotFoundError: none.
    """
    for item in DATA_SETS:
        if any(folder.glob(item.pattern)):
            return item
    raise NotFoundError(f"no known data set in {folder}", hint=f"known: {', '.join(item.name for item in DATA_SETS)}")


def _models(data_set: DataSet, settings: Settings) -> tuple[Generator, Generator]:
    """The model behind its recordings, and the model itself; a remote one is never recorded."""
    from armillary.runtime.recorded import RecordedGenerator

    live = stack.generator_for(settings)
    if not live.model.sha256:
        return live, live
    folder = RECORDINGS_FOLDER if data_set.is_kept else settings.home / "recordings"
    path = folder / f"{data_set.name}-{Path(live.model.name).name.removesuffix('.gguf')}.jsonl"
    return RecordedGenerator(path, live.model, lambda: live), live


def measure(
    data_set: DataSet,
    generator: Generator,
    verifier: Verifier,
    problems: Sequence[Graded],
    *,
    blank: Row,
    folder: Path = RESULTS_FOLDER,
    say: Say = lambda line: print(line, file=sys.stderr),
) -> list[Row]:
    """Solve and judge every problem that has no result under these settings yet; return and append the rows.

    Args:
        data_set: what the problems are of.
        generator: the model.
        verifier: judges by the tasks' own evidence, inside the loop.
        problems: what to solve, each with its judge.
        blank: a row with what all rows of the run share: the machine and the commit. Answers are graded on as many
            threads as it says; the loop itself judges them one at a time.
        folder: where results are kept; ``solve-tasks.jsonl`` lets a stopped run go on.
        say: gets one line per problem.
    """
    settings = {
        "model": asdict(generator.model),
        "sandbox_tier": verifier.sandbox_tier,
        "budget": asdict(problems[0].task.budget),
        "sources": source_sha256(SOLVING),
    }
    path = folder / "solve-tasks.jsonl"
    done = {item.task_id: item for item in map(_result_from_json, read_records(path)) if item.settings == settings}
    results = []
    for number, problem in enumerate(problems, start=1):
        result = done.get(problem.id)
        if result is None:
            result = _solve_one(problem, generator, verifier, settings, num_threads=blank.threads)
            append_record(path, asdict(result))
        results.append(result)
        say(f"{number}/{len(problems)} {result.line}")
    rows = summarise(data_set.name, results, blank, removed_target=data_set.removed_target)
    known = [item for item in map(_result_from_json, read_records(path)) if item.settings == settings]
    return _kept(rows + together(known, blank), folder)


def together(known: Sequence[TaskResult], blank: Row) -> list[Row]:
    """Rows of all data sets with a target, once each of their problems has its result."""
    sets = [item for item in DATA_SETS if item.removed_target is not None]
    prefixes = tuple(f"{item.name}/" for item in sets)
    results = [item for item in known if item.task_id.casefold().startswith(prefixes)]
    if len(results) < sum(item.num_problems for item in sets):
        return []
    return summarise_together([item.name for item in sets], results, blank)


def measure_recorded(
    data: Path,
    jail: Sandbox,
    limit: int | None,
    *,
    path: Path,
    blank: Row,
    folder: Path = RESULTS_FOLDER,
    say: Say = lambda line: print(line, file=sys.stderr),
) -> list[Row]:
    """Choose among recorded samples and grade the choice; return and append the rows.

    Args:
        data: folder of the recordings.
        jail: runs the samples, as many at once as ``blank.threads``.
        limit: problems to take, or None for all.
        path: keeps what was found out about each sample, so that a stopped run goes on and a further one is quick.
        blank: a row with what all rows of the run share.
        folder: where rows are kept.
        say: gets one line per problem.
    """
    recordings = codet.read_recordings(data, codet.load_problems(data, jail, limit, budget=BUDGET))
    judged = judge_all(recordings, CodeVerifier(jail), path, say, num_threads=blank.threads)
    return _kept(codet_rows.summarise(judged, blank), folder)


def _kept(rows: list[Row], folder: Path) -> list[Row]:
    for row in rows:
        append_row(folder / "solve.jsonl", row)
    return rows


def _solve_one(
    problem: Graded, generator: Generator, verifier: Verifier, settings: dict[str, Any], *, num_threads: int
) -> TaskResult:
    trace = Trace()
    solution = solve(problem.task, generator, verifier, trace)
    # A docstring that contradicts itself is not answered at all: empty code, which passes no test.
    codes = {attempt.id: attempt.code for attempt in solution.attempts}
    selections = [str(event.body["chosen"]) for event in trace.events if event.kind == "selection"]
    first = {attempt.id for attempt in solution.attempts if attempt.round == 0}
    selected = next((name for name in reversed(selections) if name in first), "")
    evidence = solution.evidence
    is_right = functools.cache(problem.is_right)
    proposals = judge_proposals(problem.task, generator, is_right, num_threads=num_threads)
    return TaskResult(
        task_id=problem.id,
        group=problem.group,
        settings=settings,
        proposals=tuple(hit for _, hit in proposals),
        greedy_base=problem.is_right_by_base(proposals[0][0]),
        selected=is_right(codes.get(selected, "")),
        final=is_right(solution.code),
        final_base=problem.is_right_by_base(solution.code),
        status=solution.verdict.status.value,
        is_accepted=solution.verdict.is_accepted,
        strength=0.0 if evidence is None else round(evidence.strength, 4),
        stopped_by=solution.stopped_by.value,
        num_proposals=len(first),
        num_tokens=solution.usage.total_tokens,
    )


def judge_proposals(
    task: TaskSpec, generator: Generator, is_right: Callable[[str], bool], *, num_threads: int = 1
) -> list[tuple[str, bool]]:
    """First proposals and whether they are right, wave by wave, until one is and those that the mean is taken over are.

    The rest would tell nothing about the ceiling.
    """
    judged: list[tuple[str, bool]] = []
    with ThreadPoolExecutor(num_threads) as pool:
        for codes in proposed_waves(task, generator):
            judged += zip(codes, pool.map(is_right, codes), strict=True)
            if len(judged) > NUM_MEAN_SAMPLES and any(hit for _, hit in judged):
                break
    return judged


def proposed_waves(task: TaskSpec, generator: Generator) -> Iterator[list[str]]:
    """All first proposals that the budget allows, whether or not the loop needed them; the greedy one first."""
    codes: list[str] = []
    while (request := next_request(task, codes, num_asked=len(codes))) is not None:
        texts = [""] * request.num_candidates
        sampling = replace(request.sampling, max_tokens=MAX_ANSWER_TOKENS)
        for event in generator.stream(replace(request, sampling=sampling)):
            if isinstance(event, Token):
                texts[event.candidate] += event.text
        wave = [assemble(task, extract_code(text, task.entry_point)) for text in texts]
        yield wave
        codes += wave


def _result_from_json(record: dict[str, Any]) -> TaskResult:
    try:
        return TaskResult(**{**record, "proposals": tuple(record["proposals"])})
    except (KeyError, TypeError) as error:
        raise UsageError(f"solve-tasks.jsonl holds a record of another form: {error}", hint="move it away") from error


def _blank_row(machine: MachineState, *, is_partial: bool) -> Row:
    return Row(
        claim="",
        metric="",
        value=0.0,
        unit="",
        target=None,
        aim="",
        holds=None,
        baseline="",
        n=0,
        interval=None,
        threads=len(os.sched_getaffinity(0)),
        load=machine.load,
        hardware=machine.hardware,
        commit=machine.commit,
        is_partial=is_partial,
    )
