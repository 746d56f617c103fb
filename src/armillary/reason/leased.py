"""Model and verifier as a search sees them: whatever they do, they do while they have the cores.

Adds nothing to what they say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from armillary.core.messages import Event, ModelIdentity, Request
from armillary.core.protocols import Generator, Verifier
from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import Json
from armillary.core.verdicts import Behaviour, Check, Verdict
from armillary.reason.lease import CoreLease
from armillary.reason.propose import SupportsClose


class LeasedGenerator:
    """A model that only works while it has the cores; satisfies ``core.protocols.Generator``."""

    def __init__(self, generator: Generator, lease: CoreLease) -> None:
        self._generator = generator
        self._lease = lease

    @property
    def model(self) -> ModelIdentity:
        """The real model that answers."""
        return self._generator.model

    def stream(self, request: Request) -> Iterator[Event]:
        """The model's own stream; between two events the cores are free for others."""
        with self._lease.hold("model"):
            events = self._generator.stream(request)
        try:
            while (event := self._next(events)) is not None:
                yield event
        finally:
            if isinstance(events, SupportsClose):
                with self._lease.hold("model"):
                    events.close()

    def _next(self, events: Iterator[Event]) -> Event | None:
        with self._lease.hold("model"):
            return next(events, None)


class LeasedVerifier:
    """A verifier that only works while it has the cores; satisfies ``core.protocols.Verifier``."""

    def __init__(self, verifier: Verifier, lease: CoreLease) -> None:
        self._verifier = verifier
        self._lease = lease

    @property
    def sandbox_tier(self) -> str:
        """Strength of the jail that runs the code."""
        with self._lease.hold("verifier"):
            return self._verifier.sandbox_tier

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        """Climb the ladder until the first counterexample or the end."""
        with self._lease.hold("verifier"):
            return self._verifier.verify(task, code, seed=seed)

    def behaviours(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> list[Behaviour]:
        """What each code does on shared inputs."""
        with self._lease.hold("verifier"):
            return self._verifier.behaviours(task, codes, seed=seed)

    def telling_inputs(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> tuple[Json, ...]:
        """Small inputs on which the first of these codes differ."""
        with self._lease.hold("verifier"):
            return self._verifier.telling_inputs(task, codes, seed=seed)

    def soft_checks(
        self, task: TaskSpec, code: str, examples: Sequence[Example], *, seed: int = 0
    ) -> tuple[Check, ...]:
        """One check for each example that a model wrote."""
        with self._lease.hold("verifier"):
            return self._verifier.soft_checks(task, code, examples, seed=seed)

    def last_steps(self, task: TaskSpec, code: str, arguments: Json, *, seed: int = 0) -> tuple[str, ...]:
        """What the last lines of a call worked with."""
        with self._lease.hold("verifier"):
            return self._verifier.last_steps(task, code, arguments, seed=seed)
