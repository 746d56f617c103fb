"""The pages agree with the tree: complete map, short tour, links that lead somewhere, generated figures."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import file_map
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "armillary"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Pages whose figures are quoted, generated or dated on purpose.
KEEPS_FIGURES = {"claims.md", "features.md", "log.md"}
MAX_TOUR_LINES = 2_600
NUM_TOUR_FILES = 10

GENERATED = re.compile(r"<!-- measured: begin.*?<!-- measured: end -->", re.DOTALL)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PERFORMANCE = re.compile(
    r"\d[\d.,]*\s*"
    r"(?:x (?:faster|slower|of)|times|tok(?:ens)?/s|tokens per second|ms per|GFLOP|% (?:of|faster|more|fewer))"
)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_the_map_names_every_source_file_with_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert file_map.main(["--check"], ROOT) == 0, capsys.readouterr().err
    named = re.findall(r"^- `([\w/.]+)`: \S", section(text_of(ROOT / "docs" / "tour.md"), "File map"), re.MULTILINE)
    assert named == [path.relative_to(SOURCE).as_posix() for path in file_map.source_files(SOURCE)]


def test_the_tour_is_ten_files_and_about_an_hour() -> None:
    stops = re.findall(r"^\d+\. `([\w/.]+)`", section(text_of(ROOT / "docs" / "tour.md"), "Ten files"), re.MULTILINE)
    assert len(stops) == NUM_TOUR_FILES
    assert sum(len(text_of(SOURCE / name).splitlines()) for name in stops) <= MAX_TOUR_LINES


def test_the_life_cycle_names_functions_that_exist() -> None:
    named = re.findall(r"`([\w/]+\.py):([\w.]+)`", text_of(ROOT / "docs" / "lifecycle.md"))
    assert named
    missing = [f"{path}:{name}" for path, name in named if name.split(".")[-1] not in definitions(SOURCE / path)]
    assert not missing


def definitions(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    tree = ast.parse(text_of(path))
    return {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text_of(page))
    local = [link for link in links if "://" not in link]
    assert not [link for link in local if not (page.parent / link).exists()]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in KEEPS_FIGURES], ids=lambda page: page.name)
def test_figures_of_performance_only_stand_in_generated_tables(page: Path) -> None:
    prose = FENCE.sub("", GENERATED.sub("", text_of(page)))
    assert not PERFORMANCE.findall(prose)


def test_every_public_setting_is_explained_in_the_readme() -> None:
    from armillary.core.settings import FIELDS

    readme = text_of(ROOT / "README.md")
    assert not [field.name for field in FIELDS if f"`{field.name}`" not in readme]


def test_every_exit_code_is_explained_in_the_readme() -> None:
    from armillary.core.errors import ExitCode

    table = section(text_of(ROOT / "README.md"), "Exit codes")
    assert {int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == {
        int(code) for code in ExitCode
    }


def test_every_command_stands_in_the_readme() -> None:
    from armillary.cli.application import COMMANDS

    readme = text_of(ROOT / "README.md")
    assert not [name for name in COMMANDS if f"`armillary {name}" not in readme]
