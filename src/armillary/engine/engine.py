"""Continue conversations with a local model: schedule, run, sample, emit. Holds no weights and reads no file.

Serves one request at a time, on the thread that iterates; nothing runs between two ``next`` calls.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from torch import Tensor

from armillary.core.errors import ContextLengthError, UsageError
from armillary.core.messages import Event, Finished, FinishReason, ModelIdentity, Request, Token, Usage
from armillary.core.plans import Plan
from armillary.core.protocols import Tokenizer
from armillary.engine.batch import Runner
from armillary.engine.sampler import Choice, choose
from armillary.engine.scheduler import Scheduler, Step
from armillary.engine.sequence import SequenceState
from armillary.engine.validation import check_request


class Engine:
    """A ``Generator`` on this machine.

    Args:
        runner: runs the model.
        tokenizer: the model's own.
        plan: sizes of pool, batch and context.
        model: what to call the model in answers and traces.
    """

    def __init__(self, runner: Runner, tokenizer: Tokenizer, plan: Plan, model: ModelIdentity) -> None:
        self._runner = runner
        self._tokenizer = tokenizer
        self._plan = plan
        self._model = model
        self._scheduler = Scheduler(plan)
        self._is_streaming = False

    @property
    def model(self) -> ModelIdentity:
        """The real model that answers."""
        return self._model

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer."""
        return self._tokenizer

    @property
    def num_free_blocks(self) -> int:
        """KV blocks that no sequence holds."""
        return self._scheduler.num_free_blocks

    def stream(self, request: Request) -> Iterator[Event]:
        """Yield the tokens of all candidates as they appear, and one ``Finished`` for each.

        The request is checked now; the model starts with the first ``next``. Closing the iterator cancels what is
        still running and frees its blocks; so does the end of ``max_seconds``, looked at before each step. Completion
        tokens count every token that was drawn, an end token included.

        Raises:
            UsageError: the request makes no sense, or another stream is still open.
            ContextLengthError: the prompt leaves no room for an answer.
            CacheFullError: one candidate alone would need more KV blocks than there are.
        """
        check_request(request)
        self._check_idle()
        prompt_ids = self._tokenizer.encode_chat(request.messages)
        if not prompt_ids:
            raise UsageError("the prompt has no tokens", hint="the conversation or its template is empty")
        if len(prompt_ids) >= self._plan.max_context_tokens:
            raise ContextLengthError(num_tokens=len(prompt_ids) + 1, limit=self._plan.max_context_tokens)
        self._scheduler.check_fits(self._max_length(len(prompt_ids), request.sampling.max_tokens))
        return self._events(request, prompt_ids)

    def _events(self, request: Request, prompt_ids: list[int]) -> Iterator[Event]:
        self._check_idle()
        self._is_streaming = True
        deadline_s = time.monotonic() + (math.inf if request.max_seconds is None else request.max_seconds)
        sequences = [
            SequenceState.begin(index, prompt_ids, request.sampling, first_candidate=request.first_candidate)
            for index in range(request.num_candidates)
        ]
        try:
            self._scheduler.submit(sequences)
            while self._scheduler.has_work and time.monotonic() < deadline_s:
                step = self._scheduler.schedule()
                logits = self._run(step)
                for row, sequence in self._scheduler.commit(step):
                    choice = self._sample(logits[row], sequence)
                    yield from self._emit(choice, sequence)
            for sequence in sequences:
                if sequence.finish_reason is None:
                    yield _finished(sequence, "cancelled")
        finally:
            self._scheduler.clear()
            self._is_streaming = False

    def _run(self, step: Step) -> Tensor:
        for source, target in step.copies:
            self._runner.copy_block(source, target)
        return self._runner.step(step.chunks)

    def _sample(self, logits: Tensor, sequence: SequenceState) -> Choice:
        # Output heads are padded; ids that the tokenizer does not know are never drawn.
        known = logits[: self._tokenizer.vocab_size]
        return choose(known, sequence.sampling, draw=sequence.random.draw, seen_ids=sequence.seen_ids)

    def _emit(self, choice: Choice, sequence: SequenceState) -> Iterator[Event]:
        sequence.append(choice.token_id)
        text = sequence.text.push(self._tokenizer.decode_bytes([choice.token_id]))
        sequence.finish_reason = self._finish_reason(sequence)
        if sequence.finish_reason is not None:
            text += sequence.text.flush()
            self._scheduler.finish(sequence)
        yield Token(sequence.candidate, text, choice.token_id, choice.logprob, choice.alternatives)
        if sequence.finish_reason is not None:
            yield _finished(sequence, sequence.finish_reason)

    def _finish_reason(self, sequence: SequenceState) -> FinishReason | None:
        if sequence.text.is_stopped or sequence.token_ids[-1] in self._tokenizer.end_ids:
            return "stop"
        limit = self._max_length(sequence.num_prompt_tokens, sequence.sampling.max_tokens)
        return "length" if len(sequence.token_ids) >= limit else None

    def _max_length(self, num_prompt_tokens: int, max_tokens: int) -> int:
        """Tokens that a sequence may reach, prompt included."""
        return min(num_prompt_tokens + max_tokens, self._plan.max_context_tokens)

    def _check_idle(self) -> None:
        if self._is_streaming:
            raise UsageError(
                "this engine is busy with another stream", hint="read it to the end or close it, or use a second engine"
            )


def _finished(sequence: SequenceState, reason: FinishReason) -> Finished:
    prompt_tokens = sequence.num_prompt_tokens if sequence.candidate == 0 else 0
    return Finished(sequence.candidate, reason, Usage(prompt_tokens, sequence.num_completion_tokens))
