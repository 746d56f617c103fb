"""Find out whether a task contradicts itself, before any answer is blamed. Knows no candidate."""

from __future__ import annotations

from dataclasses import replace

from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import canonical, encode
from armillary.verify.comparison import matches
from armillary.verify.contract import Contract
from armillary.verify.execution import Jail, Observation, run_calls
from armillary.verify.fuzz import NUM_INPUTS, search
from armillary.verify.generate import can_generate
from armillary.verify.rendering import render, render_call
from armillary.verify.sandbox.outcomes import BUILTIN_ERRORS, Call
from armillary.verify.temporal_level import TemporalOracle, temporal_inputs


def find_contradiction(task: TaskSpec, jail: Jail) -> str:
    """One sentence that names what cannot hold together, or an empty text.

    Looked at are the examples among each other, with ``requires``, ``raises`` and ``ensures``, and with the reference;
    and whether the reference keeps the bounds on steps, on inputs as an answer would be tried on.
    What a model wrote proves nothing and is left out.
    """
    examples = [example for example in task.examples if example.origin != "model"]
    return (
        _disagreement(task, examples)
        or _breach_of_contract(task, examples, Contract(task, jail))
        or _reference_failure(task, examples, jail)
        or _reference_over_bound(replace(task, examples=tuple(examples)), jail)
    )


def meets(example: Example, seen: Observation, returns: str) -> bool:
    """Whether a call came out as an example says."""
    if example.raises:
        return seen.has_raised(example.raises)
    return seen.kind == "returned" and matches(encode(example.expected), seen.value, returns)


def is_kind_of(error: str, base: str) -> bool:
    """Whether an exception of this name is always one of the other: the same name, or a built-in subclass."""
    known = {item.__name__: item for item in BUILTIN_ERRORS}
    return error == base or (error in known and base in known and issubclass(known[error], known[base]))


def expectation(example: Example) -> str:
    """What an example expects, as text."""
    return f"raises {example.raises}" if example.raises else render(example.expected)


def _call_text(task: TaskSpec, example: Example) -> str:
    return render_call(task.entry_point, example.arguments)


def _disagreement(task: TaskSpec, examples: list[Example]) -> str:
    seen: dict[str, Example] = {}
    for example in examples:
        first = seen.setdefault(canonical(example.arguments), example)
        if expectation(first) != expectation(example):
            call = _call_text(task, example)
            return f"two examples disagree: {call} gives {expectation(first)} and {expectation(example)}"
    return ""


def _breach_of_contract(task: TaskSpec, examples: list[Example], contract: Contract) -> str:
    arguments = [example.arguments for example in examples]
    for example, row in zip(examples, contract.requires(arguments), strict=True):
        # A predicate without an answer has not been broken; it leaves its promise unjudged later.
        if any(answer.kind in ("returned", "raised") and answer.value is not True for answer in row):
            return f"the example {_call_text(task, example)} does not satisfy requires"
    for example, errors in zip(examples, contract.demanded_errors(arguments), strict=True):
        if errors and not any(is_kind_of(example.raises, error) for error in errors):
            demanded = " or ".join(errors)
            return f"{_call_text(task, example)} must raise {demanded}, but an example expects {expectation(example)}"
    returning = [example for example in examples if not example.raises]
    rows = contract.ensures([item.arguments for item in returning], [item.expected for item in returning])
    for example, row in zip(returning, rows, strict=True):
        for predicate, answer in zip(task.ensures, row, strict=False):
            if answer.kind in ("returned", "raised") and answer.value is not True:
                result = f"{_call_text(task, example)} == {expectation(example)}"
                return f"the example {result} breaks ensures: {predicate.text}"
    return ""


def _reference_failure(task: TaskSpec, examples: list[Example], jail: Jail) -> str:
    if not task.reference:
        return ""
    calls = [Call(task.entry_point, example.arguments) for example in examples]
    found = run_calls(jail, task.reference, calls)
    if found.load_error:
        return f"the reference does not load: {found.load_error}"
    for example, seen in zip(examples, found.observations, strict=True):
        if not meets(example, seen, task.returns):
            expected = expectation(example)
            return f"the reference fails the example {_call_text(task, example)}: expected {expected}, got {seen.text}"
    return ""


def _reference_over_bound(task: TaskSpec, jail: Jail) -> str:
    bounds = tuple(bound for bound in task.temporal if bound.origin != "model")
    if not (task.reference and bounds and can_generate(task)):
        return ""
    task = replace(task, temporal=bounds)
    contract = Contract(task, jail)
    inputs = temporal_inputs(task, contract, count=NUM_INPUTS, seed=0)
    found = search(task, TemporalOracle(task, jail, task.reference), contract, inputs).breach
    if found is None:
        return ""
    call = render_call(task.entry_point, found.arguments)
    finding = found.finding
    return f"the reference breaks a temporal bound on {call}: expected {finding.expected}, got {finding.actual}"
