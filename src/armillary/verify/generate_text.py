"""Make texts of many kinds: words, numbers, brackets, runs, palindromes, foreign letters. Knows no tasks.

Texts keep to a declared alphabet. Those that are not asked to be unusual hold printable ASCII only, apart from the
characters of a task's own examples; no text ever holds half of a surrogate pair.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import TypeAlias

from armillary.verify.domains import Domain

PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
# Letters whose case changes their number (ß) or depends on the neighbours (Σ), and digits beyond 0-9, are left out:
# on these, programs differ that most tasks call equally right.
FOREIGN_LETTERS = "éÀñÖçøŁЖжλΩאع中日한"
BEYOND_16_BITS = "😀🎉𐐀𐐨"
SPACES = "\t\n\r\x0b\x0c\u00a0\u2003"
CONTROLS = "\x00\x1b\x7f\u0301\u200b"
UNUSUAL_GROUPS = (FOREIGN_LETTERS, SPACES, "\n\t", BEYOND_16_BITS, SPACES + CONTROLS)
BRACKET_PAIRS = ("()", "[]", "{}", "<>")
SHARE_FROM_EXAMPLES = 0.6
# From here on, runs of ten and more are common.
LONG_LENGTH = 20

_Style: TypeAlias = Callable[[str, random.Random, int], str]


def edge_texts(domain: Domain) -> list[str]:
    """Texts of the least and the largest length, then short ones of each usual kind; some may lie outside."""
    lengths = {0, 1, 2, domain.min_length, min(domain.max_length or 3, 50)}
    alphabet = (domain.alphabet or domain.seen or "ab")[:6]
    return [alphabet[0] * length for length in sorted(lengths)] + [*alphabet, alphabet, *_SHORT_TEXTS]


def random_text(domain: Domain, source: random.Random, length: int, *, is_unusual: bool = False) -> str:
    """A text of exactly this length; an unusual one holds characters that few think of."""
    if domain.alphabet or (domain.seen and source.random() < SHARE_FROM_EXAMPLES):
        style, pool = source.choice(_STYLES), domain.alphabet or domain.seen
    else:
        style, pool = source.choice(_KINDS)
    if length >= LONG_LENGTH and source.random() < 0.4:
        style = _long_runs
    text = style(pool, source, length)
    if domain.alphabet:
        return text
    return _with_unusual_chars(text, source) if is_unusual else text


def mutation_chars(text: str, source: random.Random, domain: Domain) -> str:
    """Characters that may come into a text when it is changed a little: often its own, now and then unusual ones."""
    if domain.alphabet:
        return domain.alphabet
    chance = source.random()
    if chance < 0.4 and text:
        return text
    return PRINTABLE if chance < 0.8 else source.choice(UNUSUAL_GROUPS)


def reshaped(text: str, source: random.Random, domain: Domain) -> str:
    """The same text in other case, padded or repeated; the text itself where its alphabet forbids that."""
    padding = " " * source.randint(1, 2)
    found = source.choice((
        text.swapcase(), text.upper(), text.lower(), text.title(), padding + text, text + padding, text + text,
    ))  # fmt: skip
    return found if not domain.alphabet or set(found) <= set(domain.alphabet) else text


def _with_unusual_chars(text: str, source: random.Random) -> str:
    group = source.choice(UNUSUAL_GROUPS)
    if source.random() < 0.25:
        return _scattered(group, source, len(text))
    chars = list(text)
    for _ in range(min(len(chars), source.randint(1, 3))):
        chars[source.randrange(len(chars))] = source.choice(group)
    return "".join(chars)


def _scattered(pool: str, source: random.Random, length: int) -> str:
    return "".join(source.choices(pool, k=length))


def _few(pool: str, source: random.Random, length: int) -> str:
    """Characters that occur again and again."""
    return _scattered("".join(source.choices(pool, k=3)), source, length)


def _runs(pool: str, source: random.Random, length: int) -> str:
    longest = source.randint(2, 5)
    return "".join(char * source.randint(1, longest) for char in source.choices(pool, k=length))[:length]


def _long_runs(pool: str, source: random.Random, length: int) -> str:
    """Often one run is the whole text."""
    return "".join(char * source.randint(1, 2 * length) for char in source.choices(pool, k=length))[:length]


def _repeated(pool: str, source: random.Random, length: int) -> str:
    return (_scattered(pool, source, source.randint(1, 4)) * length)[:length]


def _mirrored(pool: str, source: random.Random, length: int) -> str:
    """A palindrome, as often with one wrong character."""
    half = _scattered(pool, source, (length + 1) // 2)
    text = half + half[: length // 2][::-1]
    if not text or source.random() < 0.5:
        return text
    place = source.randrange(length)
    return f"{text[:place]}{source.choice(pool)}{text[place + 1 :]}"


def _words(pool: str, source: random.Random, length: int) -> str:
    """Short words; some gaps are wide, and some stand first or last."""
    gaps = [char for char in pool if char.isspace()] or [char for char in pool if not char.isalnum()]
    chars = source.choices([char for char in pool if char not in gaps] or gaps, k=length)
    place = source.randrange(6)
    while gaps and place < length:
        chars[place] = source.choice(gaps)
        place += source.choice((1, 2, 3, 4, 5, 6, 8))
    return "".join(chars)


def _sentence(pool: str, source: random.Random, length: int) -> str:
    text = _words(pool, source, length).capitalize()
    return text[:-1] + source.choice(".!?") if length > 1 else text


def _titles(pool: str, source: random.Random, length: int) -> str:
    return _words(pool, source, length).title()


def _number(pool: str, source: random.Random, length: int) -> str:
    digits = source.choices(pool, k=length)
    if length > 1 and source.random() < 0.3:
        digits[0] = source.choice("-+0")
    if length > 3 and source.random() < 0.3:
        digits[source.randrange(1, length - 1)] = source.choice(".,:/- e")
    return "".join(digits)


def _nested(pool: str, source: random.Random, length: int) -> str:
    """Brackets that match, where the length is even, and as often ones that nearly do; any text if there are none."""
    pairs = [pair for pair in BRACKET_PAIRS if pair[0] in pool and pair[1] in pool]
    if not pairs:
        return _scattered(pool, source, length)
    chars: list[str] = []
    waiting: list[str] = []
    for num_left in range(length, 0, -1):
        if waiting and (len(waiting) >= num_left or source.random() < 0.45):
            chars.append(waiting.pop())
        else:
            pair = source.choice(pairs)
            chars.append(pair[0])
            waiting.append(pair[1])
    return "".join(_spoiled(chars, pool, source) if chars and source.random() < 0.5 else chars)


def _spoiled(chars: list[str], pool: str, source: random.Random) -> list[str]:
    """The same characters backwards, two neighbours swapped, or one replaced."""
    if source.random() < 0.25:
        return chars[::-1]
    place = source.randrange(len(chars))
    if source.random() < 0.5:
        return [*chars[:place], *chars[place : place + 2][::-1], *chars[place + 2 :]]
    return [*chars[:place], source.choice(pool), *chars[place + 1 :]]


_SHORT_TEXTS = (" ", "A", "0", "Ab", "a b", "()", ")(")
# What can be made of any characters, the plain ones first.
_STYLES: tuple[_Style, ...] = (
    _scattered,
    _scattered,
    _few,
    _few,
    _runs,
    _long_runs,
    _repeated,
    _mirrored,
    _words,
    _nested,
)
_LOWER, _LETTERS, _DIGITS = string.ascii_lowercase, string.ascii_letters, string.digits
_KINDS: tuple[tuple[_Style, str], ...] = (
    (_scattered, _LOWER),
    (_scattered, _LETTERS),
    (_scattered, PRINTABLE),
    (_scattered, _LETTERS + _DIGITS),
    (_scattered, string.punctuation),
    (_few, _LOWER),
    (_few, _LOWER + _DIGITS + " "),
    (_few, "aAbB"),
    (_few, "01"),
    (_runs, _LOWER),
    (_runs, _LETTERS + _DIGITS),
    (_runs, "ab ,"),
    (_long_runs, _LETTERS),
    (_repeated, PRINTABLE),
    (_mirrored, _LOWER),
    (_mirrored, _LETTERS + " ,'"),
    (_mirrored, "abc"),
    (_words, _LOWER + " "),
    (_words, _LETTERS + _DIGITS + " "),
    (_words, "ab "),
    (_words, _LOWER + ","),
    (_words, _LETTERS + "_-"),
    (_sentence, _LOWER + " "),
    (_titles, _LOWER + " "),
    (_number, _DIGITS),
    (_number, _DIGITS),
    (_nested, "()"),
    (_nested, "()[]{}"),
    (_nested, "()[]{}<>ab+1"),
)
