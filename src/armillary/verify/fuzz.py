"""Look for an input that breaks a promise, make it small, and run it once more alone. Counts bound the work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from armillary.core.tasks import TaskSpec
from armillary.verify.contract import Contract
from armillary.verify.domains import contains, parameter_domains
from armillary.verify.generate import INPUTS_PER_LARGE_ONE, Arguments, generate_inputs, is_large
from armillary.verify.oracles import SLOW, Finding, Oracle, Unjudged
from armillary.verify.shrink import shrink, weight

NUM_INPUTS = 200
INPUTS_PER_BATCH = 50
# Inputs made for each one wanted, when ``requires`` turns some away.
OVERSAMPLING = 8

Admits = Callable[[Sequence[Arguments]], list[bool]]


@dataclass(frozen=True, slots=True)
class Breach:
    """The smallest input found that breaks a promise, and how; it did so again in a process of its own."""

    promise_id: str
    arguments: Arguments
    finding: Finding


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found.

    Attributes:
        num_judged: promise id -> inputs on which it held or was broken.
        unjudged: promise id -> reason -> inputs of which it speaks but on which it could not be judged.
        hidden: ids of promises that could not be judged because of what the program gave.
        slow: ids of promises that it did not keep in time on a large input; no further large one was tried.
        breach: None when every promise held, or when what broke one did not do so again.
        flaky_id: the promise that was broken once and held when the same input was run again, or empty.
        load_error: why a program that had loaded before did not load for a batch, or empty.
    """

    num_judged: Mapping[str, int] = field(default_factory=dict)
    unjudged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    slow: frozenset[str] = frozenset()
    breach: Breach | None = None
    flaky_id: str = ""
    load_error: str = ""


class _Tally:
    """Counts what was judged, and why the rest was not."""

    def __init__(self) -> None:
        self.num_judged: Counter[str] = Counter()
        self.unjudged: dict[str, Counter[str]] = {}
        self.hidden: set[str] = set()
        self.slow: set[str] = set()
        self.load_error = ""

    def add(self, name: str, judged: Finding | Unjudged | None) -> None:
        if not isinstance(judged, Unjudged):
            self.num_judged[name] += 1
        elif judged == SLOW:
            self.slow.add(name)
        elif not judged.is_outside:
            self.unjudged.setdefault(name, Counter())[judged.reason] += 1
            self.hidden |= {name} if judged.is_hidden else set()
            self.load_error = self.load_error or (judged.reason if judged.is_unloaded else "")

    def result(self) -> SearchResult:
        hidden, slow = frozenset(self.hidden), frozenset(self.slow)
        return SearchResult(dict(self.num_judged), self.unjudged, hidden, slow, load_error=self.load_error)


def admissible_inputs(task: TaskSpec, contract: Contract, *, count: int, seed: int) -> list[Arguments]:
    """Generated inputs that satisfy ``requires``, at most ``count``."""
    if not task.requires:
        return generate_inputs(task, count=count, seed=seed)
    made = generate_inputs(task, count=count * OVERSAMPLING, seed=seed)
    num_ordinary = sum(not is_large(item) for item in made)
    large = _admitted(contract, made[num_ordinary:][: max(1, count // INPUTS_PER_LARGE_ONE)])
    kept: list[Arguments] = []
    for start in range(0, num_ordinary, count):
        kept += _admitted(contract, made[start : min(start + count, num_ordinary)])
        if len(kept) + len(large) >= count:
            break
    return kept[: count - len(large)] + large


def _admitted(contract: Contract, inputs: Sequence[Arguments]) -> list[Arguments]:
    return [item for item, is_admitted in zip(inputs, contract.admits(inputs), strict=True) if is_admitted]


def unanswered_requirement(task: TaskSpec, contract: Contract, *, seed: int) -> str:
    """What ``requires`` gives no answer on the simplest input, and why; or an empty text."""
    rows = contract.requires(generate_inputs(task, count=1, seed=seed))
    answers = [(index, item) for row in rows for index, item in enumerate(row)]
    silent = [(index, item) for index, item in answers if item.kind not in ("returned", "raised")]
    return "".join(
        f"requires[{index}] gave no answer ({task.requires[index].text}): {item.text}" for index, item in silent[:1]
    )


def search(task: TaskSpec, oracle: Oracle, contract: Contract, inputs: Sequence[Arguments]) -> SearchResult:
    """Judge the inputs batch by batch until one breaks a promise, hides a result, or is large and takes too long."""
    tally = _Tally()
    for batch in _batches(inputs):
        broken: list[Breach] = []
        for arguments, judgement in zip(batch, oracle.judge(batch), strict=True):
            for name, judged in judgement.items():
                tally.add(name, judged)
                if isinstance(judged, Finding):
                    broken.append(Breach(name, arguments, judged))
        if broken:
            smallest = min(broken, key=lambda breach: weight(breach.arguments))
            return _confirmed(task, oracle, contract, smallest, tally.result())
        # No later input makes a tested program of one that hides results; a further large one would be slow too.
        if tally.load_error or tally.hidden or tally.slow:
            break
    return tally.result()


def _batches(inputs: Sequence[Arguments]) -> Iterator[Sequence[Arguments]]:
    """The ordinary inputs, then the large ones: first a single one, as each may cost all the time that a call has."""
    num_ordinary = sum(not is_large(item) for item in inputs)
    ordinary, large = inputs[:num_ordinary], inputs[num_ordinary:]
    for start in range(0, num_ordinary, INPUTS_PER_BATCH):
        yield ordinary[start : start + INPUTS_PER_BATCH]
    for batch in (large[:1], large[1:4], large[4:]):
        if batch:
            yield batch


def _confirmed(task: TaskSpec, oracle: Oracle, contract: Contract, found: Breach, result: SearchResult) -> SearchResult:
    arguments, name = found.arguments, found.promise_id
    domains = parameter_domains(task)

    def fails(batch: Sequence[Arguments]) -> list[bool]:
        allowed = [all(map(contains, domains, item)) for item in batch]
        allowed = [inside and admitted for inside, admitted in zip(allowed, contract.admits(batch), strict=True)]
        tried = [item for item, is_allowed in zip(batch, allowed, strict=True) if is_allowed]
        judged = iter(oracle.judge(tried) if tried else [])
        return [is_allowed and isinstance(next(judged)[name], Finding) for is_allowed in allowed]

    # The smallest first; the original too, should the smaller one have failed only in company.
    shrunk = arguments if found.finding.is_slow else shrink(arguments, fails)
    for candidate in (shrunk, arguments):
        finding = oracle.judge([candidate])[0][name]
        if isinstance(finding, Finding):
            return replace(result, breach=Breach(name, candidate, finding))
    return replace(result, flaky_id=name)
