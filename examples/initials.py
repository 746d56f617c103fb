"""A plain stub: its docstring holds all the evidence. `armillary solve examples/initials.py`."""


def initials(name: str) -> str:
    """Return the upper-case initials of a name, each followed by a dot.

    >>> initials("ada lovelace")
    'A.L.'
    >>> initials("  Grace   Brewster Murray  Hopper ")
    'G.B.M.H.'
    >>> initials("")
    ''
    """
