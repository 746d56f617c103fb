"""Chosen packages can be imported in the jail, and nothing beside them can be read there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from armillary.core.errors import SandboxError, UsageError
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits
from armillary.verify.sandbox.packages import Outfit, Place, find_packages, open_to_imports, preload

SITE = Path(yaml.__file__).parents[1]
LOADS = "import yaml\nprint(yaml.safe_load('a: 1'))"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, on the path of this process."""
    files = {
        "lone.py": "VALUE = 1",
        "whole/__init__.py": "VALUE = 2",
        "whole-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: whole\nVersion: 1.0\n",
        "whole-1.0.dist-info/RECORD": "whole/__init__.py,,\nwhole.libs/x.so,,\n../bin/whole,,\ngone.py,,\n"
        "shared/ours/__init__.py,,\nwhole-1.0.dist-info/METADATA,,\n",
        "whole-1.0.dist-info/top_level.txt": "whole\nshared\n",
        "whole.libs/x.so": "",
        "shared/ours/__init__.py": "VALUE = 3",
        "shared/theirs/__init__.py": "VALUE = 4",
        "loose/part.py": "VALUE = 5",
        "threaded.py": "import threading, time\nthreading.Thread(target=time.sleep, args=(0.5,)).start()",
    }
    for name, text in files.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    return tmp_path / "site"


def test_a_package_that_is_named_can_be_imported_with_its_binary_part_and_its_metadata() -> None:
    with Sandbox(packages=["yaml"]) as sandbox:
        result = sandbox.run(f"{LOADS}\nimport importlib.metadata\nprint(yaml.__with_libyaml__)\n"
                             "print(importlib.metadata.version('pyyaml'))")  # fmt: skip
    assert result.stdout.splitlines() == ["{'a': 1}", str(yaml.__with_libyaml__), yaml.__version__]


def test_a_package_that_is_not_named_is_not_there() -> None:
    with Sandbox() as sandbox:
        assert sandbox.run(LOADS).load_error == "ModuleNotFoundError: No module named 'yaml'"


def test_the_neighbours_of_a_named_package_are_not_there_and_cannot_be_read() -> None:
    program = f"""
for attempt in (lambda: __import__("pytest"), lambda: open({str(SITE / "pytest" / "__init__.py")!r})):
    try: attempt()
    except Exception as error: print(type(error).__name__)
"""
    with Sandbox(packages=["yaml"]) as sandbox:
        assert sandbox.run(program).stdout.split() == ["ModuleNotFoundError", "PermissionError"]


def test_a_named_package_cannot_be_written() -> None:
    with Sandbox(packages=["yaml"]) as sandbox:
        error = sandbox.run(f"open({yaml.__file__!r}, 'a')").load_error
    assert error.startswith(("OSError: [Errno 30]", "PermissionError"))


def test_a_preloaded_module_is_there_before_the_program_starts() -> None:
    asks = "import sys\nprint('yaml' in sys.modules)"
    with Sandbox(packages=["yaml"], preload=["yaml"]) as sandbox:
        assert sandbox.run(asks).stdout == "True\n"
    with Sandbox(packages=["yaml"]) as sandbox:
        assert sandbox.run(asks).stdout == "False\n"


def test_a_module_that_cannot_be_preloaded_is_an_error_that_names_it() -> None:
    with (
        Sandbox(preload=["yaml"]) as sandbox,
        pytest.raises(SandboxError, match="did not start: ModuleNotFoundError: No module named 'yaml'"),
    ):
        sandbox.run("")


def test_a_module_that_leaves_a_thread_behind_is_not_preloaded(folder: Path) -> None:
    with (
        Sandbox(packages=["threaded"], preload=["threaded"]) as sandbox,
        pytest.raises(SandboxError, match="'threaded' starts a thread when it is imported"),
    ):
        sandbox.run("")
    with pytest.raises(SandboxError, match="'threaded' starts a thread"):
        preload(["threaded"])
    del sys.modules["threaded"]


@pytest.mark.parametrize("name", ["no_such_package", "yaml.nodes"])
def test_what_is_not_installed_as_a_top_level_name_is_an_error_at_once(name: str) -> None:
    with pytest.raises(UsageError, match=f"no package '{name}'"):
        Sandbox(packages=[name])


def test_the_standard_library_needs_no_place() -> None:
    assert find_packages(["json", "sys"]) == ()


def test_a_module_of_one_file_is_found(folder: Path) -> None:
    assert find_packages(["lone", "lone"]) == (Place(str(folder), ("lone.py",)),)


def test_a_package_comes_with_all_that_its_distribution_brings_and_that_is_there(folder: Path) -> None:
    (place,) = find_packages(["whole"])
    assert place.folder == str(folder)
    assert sorted(place.entries) == ["shared/ours", "whole", "whole-1.0.dist-info", "whole.libs"]


def test_of_a_folder_that_distributions_share_only_the_own_part_is_granted(folder: Path) -> None:
    with Sandbox(packages=["shared"], limits=Limits(wall_s=5.0)) as sandbox:
        result = sandbox.run("import shared.ours\nprint(shared.ours.VALUE)\nimport shared.theirs")
    assert result.stdout == "3\n"
    assert "Error" in result.load_error


def test_a_folder_that_nobody_brought_is_granted_as_a_whole(folder: Path) -> None:
    assert find_packages(["loose"]) == (Place(str(folder), ("loose",)),)


def test_an_outfit_survives_its_journey_to_the_zygote(folder: Path) -> None:
    outfit = Outfit(find_packages(["whole", "lone"]), ("whole",))
    assert Outfit.from_text(outfit.to_text()) == outfit


def test_a_process_that_is_opened_to_packages_finds_those_that_are_granted_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != str(folder)])
    open_to_imports([Place(str(folder), ("lone.py",))])
    try:
        preload(["lone"])
        assert sys.modules["lone"].VALUE == 1
        with pytest.raises(ModuleNotFoundError):
            preload(["whole"])
    finally:
        sys.modules.pop("lone", None)
        sys.path_importer_cache.pop(str(folder), None)
