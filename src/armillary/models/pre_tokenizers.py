"""How byte-level BPE vocabularies cut text into words before merging: one table row per spelling in GGUF files.

Only data and its lookup; the cutting itself is done by the ``tokenizers`` library.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from armillary.core.errors import ModelFileError

# The pieces from which all known rules are put together.
_CONTRACTION = "'s|'t|'re|'ve|'m|'ll|'d"
_SPACES_BEFORE_WORD = r"\s+(?!\S)|\s+"
_DIGIT = r"\p{N}"
_GPT2 = rf"{_CONTRACTION}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{_SPACES_BEFORE_WORD}"


def _line_aware(numbers: str) -> str:
    """The rule of later models: any case of contraction, one leading sign, line breaks apart, numbers cut as asked."""
    word = r"[^\r\n\p{L}\p{N}]?\p{L}+"
    signs = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
    return rf"(?i:{_CONTRACTION})|{word}|{numbers}|{signs}|\s*[\r\n]+|{_SPACES_BEFORE_WORD}"


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """One way of cutting.

    Attributes:
        patterns: regular expressions; each cuts the pieces that the one before it left.
        whole_words_first: a piece that is itself a token is taken whole, without merging.
    """

    patterns: tuple[str, ...]
    whole_words_first: bool = False


_PLAIN = PreTokenizer((_GPT2,))
_SINGLE_DIGITS = PreTokenizer((_DIGIT, _GPT2))
_QWEN2 = PreTokenizer((_line_aware(r"\p{N}"),))
_LLAMA3 = PreTokenizer((_line_aware(r"\p{N}{1,3}"),), whole_words_first=True)

PRE_TOKENIZERS = MappingProxyType(
    {
        "default": _PLAIN,
        "gpt-2": _PLAIN,
        "smollm": _SINGLE_DIGITS,
        "starcoder": _SINGLE_DIGITS,
        "qwen2": _QWEN2,
        "deepseek-r1-qwen": _QWEN2,
        "llama-bpe": _LLAMA3,
        "llama-v3": _LLAMA3,
        "llama3": _LLAMA3,
    }
)


def find_pre_tokenizer(name: str) -> PreTokenizer:
    """The row of a file's ``tokenizer.ggml.pre``.

    Raises:
        ModelFileError: nobody has written down how this vocabulary cuts text.
    """
    if name not in PRE_TOKENIZERS:
        raise ModelFileError(f"unknown pre-tokenizer {name!r}", hint=f"known: {', '.join(PRE_TOKENIZERS)}")
    return PRE_TOKENIZERS[name]
