"""A model that says what a script tells it, a verifier that knows the right answers, and a clock that one sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from armillary.core.messages import Event, Finished, FinishReason, ModelIdentity, Request, Token, Usage
from armillary.core.tasks import Budget, Example, TaskSpec
from armillary.core.values import Json
from armillary.core.verdicts import Behaviour, Check, Counterexample, Status, Verdict

CHECKS = ("examples[0]", "examples[1]", "ensures[0]")


def fenced(code: str) -> str:
    """How a chat model answers."""
    return f"Here you are:\n```python\n{code.strip()}\n```\nDone."


@dataclass
class Clock:
    """Monotonic seconds that only move when told."""

    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class ScriptedModel:
    """Plays one list of texts per request; the candidates' tokens come in turns, as from a batch.

    Attributes:
        seconds_per_token: added to the clock with every token.
    """

    script: list[list[str]]
    clock: Clock = field(default_factory=Clock)
    seconds_per_token: float = 0.0
    prompt_tokens: int = 100
    logprob: float | None = -0.5
    reasons: dict[str, FinishReason] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    num_closed: int = 0
    num_sent_tokens: int = 0

    @property
    def model(self) -> ModelIdentity:
        return ModelIdentity("scripted", "0" * 64)

    def stream(self, request: Request) -> Iterator[Event]:
        texts = self.script[len(self.requests)][: request.num_candidates]
        self.requests.append(request)
        words = [text.split(" ") for text in texts]
        try:
            for step in range(max(len(parts) for parts in words)):
                for candidate, parts in enumerate(words):
                    if step < len(parts):
                        yield from self._step(candidate, parts, step, texts[candidate])
        finally:
            self.num_closed += 1

    def _step(self, candidate: int, parts: list[str], step: int, text: str) -> Iterator[Event]:
        self.clock.now_s += self.seconds_per_token
        self.num_sent_tokens += 1
        is_last = step == len(parts) - 1
        yield Token(candidate, parts[step] + ("" if is_last else " "), logprob=self.logprob)
        if is_last:
            reason = self.reasons.get(text, "stop")
            usage = Usage(self.prompt_tokens if candidate == 0 else 0, len(parts))
            yield Finished(candidate, reason, usage, "the line went dead" if reason == "error" else "")


def judged(num_passed: int, *, status: Status | None = None, checks: Sequence[str] = CHECKS) -> Verdict:
    """A verdict on code that passes the first so many checks and fails the next one."""
    passed = tuple(Check(name, "examples", "user", True, text=f"{name} holds") for name in checks[:num_passed])
    if num_passed >= len(checks):
        return Verdict(status or Status.TESTED, passed, sandbox_tier="A")
    broken = checks[num_passed]
    failed = Check(broken, "examples", "user", False, text=f"{broken} holds")
    found = Counterexample(broken, f"f({num_passed})", "1", "2", [num_passed])
    return Verdict(status or Status.REFUTED, (*passed, failed), found, sandbox_tier="A")


@dataclass
class OracleVerifier:
    """Knows the verdict of every code; unknown code is refuted at once.

    Attributes:
        on_task: verdict on no code, which can only be about the task.
        behaviour: a word by code; code that is not named behaves like nothing else.
        seconds_per_check: added to the clock with every verdict.
        telling: inputs on which the codes differ.
        answers: what each code gives on them.
        steps: the last steps of every failing call.
    """

    verdicts: dict[str, Verdict]
    behaviour: dict[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    seconds_per_check: float = 0.0
    on_task: Verdict = field(default_factory=lambda: judged(0))
    seeds: list[int] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    compared: list[list[str]] = field(default_factory=list)
    telling: tuple[Json, ...] = ()
    answers: dict[str, object] = field(default_factory=dict)
    steps: tuple[str, ...] = ()

    @property
    def sandbox_tier(self) -> str:
        return "A"

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        if not code:
            return self.on_task
        self.clock.now_s += self.seconds_per_check
        self.seeds.append(seed)
        self.verified.append(code)
        return self.verdicts.get(code, judged(0))

    def behaviours(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> list[Behaviour]:
        self.compared.append(list(codes))
        return [(self.behaviour.get(code, code),) for code in codes]

    def telling_inputs(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> tuple[Json, ...]:
        return self.telling

    def soft_checks(
        self, task: TaskSpec, code: str, examples: Sequence[Example], *, seed: int = 0
    ) -> tuple[Check, ...]:
        return tuple(
            Check(f"model_examples[{index}]", "agreement", "model", example.expected == self.answers.get(code))
            for index, example in enumerate(examples)
        )

    def last_steps(self, task: TaskSpec, code: str, arguments: Json, *, seed: int = 0) -> tuple[str, ...]:
        return self.steps


def task_with(**budget: float) -> TaskSpec:
    """A small task with hard evidence and a given budget."""
    limits = {"num_candidates": 3, "max_rounds": 2} | budget
    return TaskSpec(
        prompt="Add one to a number.",
        entry_point="f",
        examples=(Example((1,), 2),),
        budget=Budget(**limits),  # type: ignore[arg-type]  # whole numbers where they must be
    )
