"""A stand-in for the class of ``llama_cpp``: reads tokens by one rule, so that its logits and seconds are known."""

from __future__ import annotations

import os
import signal
from typing import Any, ClassVar

import numpy as np

VOCAB_SIZE = 8
BROKEN = "broken.gguf"


class FakeLlama:
    """Logits of a position are its token, in every column; a token takes one second of the clock that it was given.

    Attributes:
        clock: moved by one second for each token, if there is one.
        made: options of every model that was made.
    """

    clock: ClassVar[Any] = None
    made: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, path: str, **options: Any) -> None:
        if path.endswith(BROKEN):
            os.kill(os.getpid(), signal.SIGKILL)  # as sudden as a crash in native code
        self.made.append({"path": path, **options})
        self.scores = np.zeros((options["n_ctx"], VOCAB_SIZE), np.float32)
        self.num_tokens = 0

    def reset(self) -> None:
        """Forget all tokens."""
        self.num_tokens = 0

    def eval(self, tokens: list[int]) -> None:
        """Read tokens after those before."""
        for token in tokens:
            self.scores[self.num_tokens] = token
            self.num_tokens += 1
            if self.clock is not None:
                self.clock.now_s += 1
