"""llama.cpp as a peer, in a process of its own that answers one JSON line with one. Used by ``bench engine`` only.

A process of its own, because two thread pools that spin in one process slow each other down.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from armillary.core.errors import NotFoundError


class LlamaPeer:
    """The parent's side.

    Args:
        path: the GGUF file.
        num_threads: for prompt and decode alike.
        max_context_tokens: of its cache.

    Raises:
        NotFoundError: ``llama-cpp-python`` is not installed.
    """

    def __init__(self, path: Path, num_threads: int, max_context_tokens: int) -> None:
        if find_spec("llama_cpp") is None:
            raise NotFoundError("llama-cpp-python is not installed", hint="pip install 'armillary[bench]'")
        command = [sys.executable, "-m", __name__, str(path), str(num_threads), str(max_context_tokens)]
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions, self._answers = self._process.stdin, self._process.stdout

    def time_decode(self, prompt: list[int], answer: list[int]) -> float:
        """Seconds to read ``answer`` token by token after the prompt, sampling not counted."""
        return float(self._ask({"do": "decode", "prompt": prompt, "answer": answer})["seconds"])

    def time_prefill(self, prompt: list[int]) -> float:
        """Seconds to read a prompt."""
        return float(self._ask({"do": "prefill", "prompt": prompt})["seconds"])

    def save_logits(self, token_ids: list[int], path: Path) -> None:
        """Write the logits of every position as a ``.npy`` file of [T, vocab] float32."""
        self._ask({"do": "logits", "prompt": token_ids, "path": str(path)})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        # A process that is gone already breaks the pipe; one that goes while it thinks ends its answers.
        with suppress(BrokenPipeError):
            self._questions.write(json.dumps(question) + "\n")
            self._questions.flush()
        line = self._answers.readline()
        if not line:
            raise NotFoundError("llama.cpp ended without an answer", hint="check that llama-cpp-python works here")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Kill the process that runs llama.cpp and close both pipes to it."""
        self._process.kill()
        self._process.wait()
        self._answers.close()
        with suppress(BrokenPipeError):  # a question that nobody read is still in the buffer
            self._questions.close()

    def __enter__(self) -> LlamaPeer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def serve(path: str, num_threads: int, max_context_tokens: int) -> None:
    """The child's side: answer until standard input ends."""
    from llama_cpp import Llama

    def new_model(**options: Any) -> Any:
        return Llama(
            path,
            n_ctx=max_context_tokens,
            n_threads=num_threads,
            n_threads_batch=num_threads,
            n_batch=512,
            verbose=False,
            **options,
        )

    model = new_model()
    for line in sys.stdin:
        question = json.loads(line)
        if question["do"] == "logits":
            answer = _write_logits(new_model(logits_all=True), question)
        else:
            answer = {"seconds": _timed(model, question["prompt"], question.get("answer"))}
        print(json.dumps(answer), flush=True)


def _timed(model: Any, prompt: list[int], answer: list[int] | None) -> float:
    model.reset()
    started = time.perf_counter()
    model.eval(prompt)
    if answer is not None:
        started = time.perf_counter()
        for token in answer:
            model.eval([token])
    return time.perf_counter() - started


def _write_logits(model: Any, question: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    model.reset()
    model.eval(question["prompt"])
    np.save(question["path"], model.scores[: len(question["prompt"])])
    return {}


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
