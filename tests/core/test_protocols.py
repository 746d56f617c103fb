from __future__ import annotations

import pytest

from armillary.core import protocols

PROTOCOLS = [protocols.Generator, protocols.Verifier, protocols.Tokenizer]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_a_seam_has_no_behaviour_of_its_own(protocol: type) -> None:
    with pytest.raises(TypeError, match="Protocols cannot be instantiated"):
        protocol()
