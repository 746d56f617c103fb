"""The file map takes each file's own first sentence."""

from __future__ import annotations

from pathlib import Path

import file_map
import pytest

MAP = """**core**

- `core/tasks.py`: A task, as one form.

**kernels**

- `kernels/native/pool.hpp`: Threads that wait for work.
- `kernels/table.toml`: Names and numbers."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "armillary"
    (package / "core").mkdir(parents=True)
    (package / "kernels" / "native").mkdir(parents=True)
    (package / "core" / "__init__.py").write_text("")
    (package / "core" / "tasks.py").write_text('"""A task,\nas one form. Parses nothing.\n\nMore."""\n')
    (package / "kernels" / "native" / "pool.hpp").write_text(
        "// Threads that wait\n// for work. No more.\n#pragma once\n"
    )
    (package / "kernels" / "table.toml").write_text("# Names and numbers.\n\n[a]\n# another\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tour.md").write_text(f"# Tour\n\n{file_map.MARKS[0]}\n{file_map.MARKS[1]}\n\ntail\n")
    return tmp_path


def test_each_file_stands_under_its_room_with_its_first_sentence(project: Path) -> None:
    assert file_map.render(project / "src" / "armillary") == MAP


def test_a_file_that_says_nothing_has_an_empty_line_of_description(project: Path) -> None:
    (project / "src" / "armillary" / "core" / "tasks.py").write_text("x = 1\n")
    assert "- `core/tasks.py`: \n" in file_map.render(project / "src" / "armillary")


def test_writing_makes_the_check_pass_and_keeps_the_rest_of_the_page(project: Path) -> None:
    assert file_map.main([], project) == 0
    assert file_map.main(["--check"], project) == 0
    page = (project / "docs" / "tour.md").read_text()
    assert page.startswith("# Tour\n")
    assert page.endswith("\n\ntail\n")


def test_a_stale_map_fails_the_check_and_is_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (project / "docs" / "tour.md").read_text()
    assert file_map.main(["--check"], project) == 1
    assert "stale" in capsys.readouterr().err
    assert (project / "docs" / "tour.md").read_text() == before


def test_a_page_without_the_marks_is_an_error(project: Path) -> None:
    (project / "docs" / "tour.md").write_text("# Tour\n")
    with pytest.raises(ValueError, match="the page lacks"):
        file_map.main([], project)
