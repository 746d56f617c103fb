"""All attacks on the jail, with the layers that stop each. Only names; ``attack_table`` runs them."""

from __future__ import annotations

from typing import Final

from armillary.bench.attack_form import Attack
from armillary.bench.attacks_on_files import FILE_ATTACKS
from armillary.bench.attacks_on_processes import PROCESS_ATTACKS
from armillary.bench.attacks_on_resources import RESOURCE_ATTACKS
from armillary.bench.attacks_on_the_kernel import KERNEL_ATTACKS

ATTACKS: Final[tuple[Attack, ...]] = (*FILE_ATTACKS, *PROCESS_ATTACKS, *KERNEL_ATTACKS, *RESOURCE_ATTACKS)
