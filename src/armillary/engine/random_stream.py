"""Random numbers that depend on the request's seed and the candidate alone. Not for secrets.

Draw ``n`` of candidate ``i`` is a hash of ``(seed, i, n)``: nothing else in the batch, no thread and no library version
can change it, and the whole state is one counter.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

_SCALE = 2.0**-53


@dataclass(slots=True)
class RandomStream:
    """Uniform numbers of one candidate.

    Attributes:
        seed: the request's.
        candidate: index within the request.
        num_draws: numbers taken so far; setting it back repeats them.
    """

    seed: int
    candidate: int
    num_draws: int = 0

    def draw(self) -> float:
        """The next number, in [0, 1), with 53 random bits."""
        key = f"{self.seed}/{self.candidate}/{self.num_draws}".encode()
        self.num_draws += 1
        return (int.from_bytes(blake2b(key, digest_size=8).digest(), "little") >> 11) * _SCALE
