"""Going back to a checkpoint and going on is the same as never having diverged."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st
from toy_model import ToyRunner, ToyTokenizer, plan

from armillary.core.messages import Sampling
from armillary.engine.sampler import choose
from armillary.engine.scheduler import Scheduler
from armillary.engine.sequence import SequenceState

SAMPLING = Sampling(temperature=1.0, seed=5, stop=("ab", "ca"), repetition_penalty=1.2)


class Life:
    """One candidate over real scheduling and the toy model."""

    def __init__(self) -> None:
        sizes = plan(num_blocks=16)
        self.scheduler, self.runner = Scheduler(sizes), ToyRunner(sizes)
        self.sequence = SequenceState.begin(0, list(b"abcde fg"), SAMPLING)
        self.scheduler.submit([self.sequence])

    def write(self, num_tokens: int, *, forced: int | None = None) -> Iterator[tuple[int, str]]:
        for _ in range(num_tokens):
            yield self._write_one(forced)

    def _write_one(self, forced: int | None) -> tuple[int, str]:
        ready: list[tuple[int, SequenceState]] = []
        while not ready:
            step = self.scheduler.schedule()
            for source, target in step.copies:
                self.runner.copy_block(source, target)
            logits = self.runner.step(step.chunks)[:, :256]
            ready = self.scheduler.commit(step)
        sequence = self.sequence
        choice = choose(logits[0], SAMPLING, draw=sequence.random.draw, seen_ids=sequence.seen_ids)
        token = choice.token_id if forced is None else forced
        sequence.append(token)
        return token, sequence.text.push(ToyTokenizer().decode_bytes([token]))


@settings(max_examples=60, deadline=None)
@given(
    before=st.integers(0, 9), astray=st.integers(0, 9), after=st.integers(1, 9), forced=st.sampled_from([97, 98, None])
)
def test_restore_and_go_on_equals_never_having_diverged(
    before: int, astray: int, after: int, forced: int | None
) -> None:
    straight, wandering = Life(), Life()
    assert list(straight.write(before)) == list(wandering.write(before))

    checkpoint = wandering.sequence.checkpoint()
    list(wandering.write(astray, forced=forced))
    wandering.sequence.finish_reason = "stop"
    wandering.sequence.restore(checkpoint)

    assert wandering.sequence.checkpoint() == checkpoint
    assert list(straight.write(after)) == list(wandering.write(after))
    assert straight.sequence.checkpoint() == wandering.sequence.checkpoint()
    assert straight.sequence.seen_ids == wandering.sequence.seen_ids


def test_a_checkpoint_of_an_abandoned_branch_can_be_restored_too() -> None:
    life = Life()
    root = life.sequence.checkpoint()
    list(life.write(3, forced=97))
    branch = life.sequence.checkpoint()
    expected = list(life.write(4))
    life.sequence.restore(root)
    list(life.write(6, forced=98))
    life.sequence.restore(branch)
    assert list(life.write(4)) == expected


def test_a_sequence_starts_with_the_whole_prompt_to_read() -> None:
    sequence = SequenceState.begin(2, [5, 6, 5], Sampling(seed=9))
    assert (sequence.num_uncomputed, sequence.num_completion_tokens) == (3, 0)
    assert sequence.seen_ids == {5, 6}
    assert (sequence.random.seed, sequence.random.candidate) == (9, 2)


def test_a_written_token_is_not_yet_computed() -> None:
    sequence = SequenceState.begin(0, [5], Sampling())
    sequence.num_computed = 1
    sequence.append(7)
    assert (sequence.num_uncomputed, sequence.num_completion_tokens) == (1, 1)
