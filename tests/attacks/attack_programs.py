"""The attacks that can be tried one after the other in a single process, and under ordinary limits."""

from __future__ import annotations

from armillary.bench.attack_form import MARK
from armillary.bench.attacks import ATTACKS as ALL_ATTACKS
from armillary.bench.attacks_on_resources import RESOURCE_ATTACKS

__all__ = ["ATTACKS", "MARK"]

ATTACKS = tuple(attack for attack in ALL_ATTACKS if not attack.ends_itself and attack not in RESOURCE_ATTACKS)
