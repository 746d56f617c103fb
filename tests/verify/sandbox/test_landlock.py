from __future__ import annotations

import os
import sys

import pytest

from armillary.core.errors import SandboxError
from armillary.verify.sandbox.landlock import abi_version, interpreter_grants
from armillary.verify.sandbox.namespaces import choose_private_folder


def test_this_kernel_has_landlock() -> None:
    assert abi_version() >= 1


def test_everything_that_is_granted_exists() -> None:
    assert all(os.path.exists(grant.path) for grant in interpreter_grants())


def test_the_standard_library_is_granted() -> None:
    paths = {grant.path for grant in interpreter_grants()}
    assert os.path.realpath(os.__file__) in {os.path.realpath(path) for path in paths}


def test_no_folder_of_installed_packages_is_granted(monkeypatch: pytest.MonkeyPatch) -> None:
    standard_library = os.path.dirname(os.path.realpath(os.__file__))
    monkeypatch.setattr(sys, "path", [standard_library, f"{standard_library}/nowhere.zip"])
    reading = 1 << 2
    readable = {grant.path for grant in interpreter_grants() if grant.rights & reading}
    assert not any(path.endswith(("site-packages", "dist-packages")) for path in readable)
    assert standard_library not in readable


def test_the_private_folder_never_hides_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    first = choose_private_folder()
    monkeypatch.setattr(sys, "path", [f"{first}/python/lib"])
    second = choose_private_folder()
    assert second != first
    monkeypatch.setattr(sys, "path", [f"{folder}/lib" for folder in ("/tmp", "/var/tmp", "/mnt", "/srv")])
    with pytest.raises(SandboxError, match="no folder for the private tmpfs"):
        choose_private_folder()
