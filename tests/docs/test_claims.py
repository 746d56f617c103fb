"""The page of claims is complete, current and no kinder than the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import claims
import pytest

ROOT = Path(__file__).resolve().parents[2]
FEATURES = """| # | system | what it must do | what the articles claim |
|---|---|---|---|
| A1 | Attention | blocks with a threshold of 0.7 | 35 % faster on an A100 |
"""
CLAIM = """
[[claim]]
id = "A1-speed"
feature = "A1"
text = "Faster"
figures = ["35 %", "0.7"]
target = ">= 1.35x"
bench = "attention"
metric = "speedup"
status = "not attempted"
"""
README = f"# Title\n\n{claims.MARKS[0]}\nstale words\n{claims.MARKS[1]}\n\ntail\n"


def result(**changes: Any) -> str:
    row = {
        "claim": "A1-speed",
        "metric": "speedup",
        "value": 1.4,
        "unit": "x",
        "target": 1.35,
        "aim": "higher",
        "holds": True,
        "baseline": "dense",
        "n": 5,
        "interval": [1.3, 1.5],
        "threads": 2,
        "load": 0.1,
        "hardware": "2 cores",
        "commit": "abcdef123456",
    }
    return json.dumps(row | changes)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "docs" / "features.md").write_text(FEATURES)
    (tmp_path / "docs" / "claims.toml").write_text(f"readme = []\n{CLAIM}")
    (tmp_path / "README.md").write_text(README)
    return tmp_path


def set_status(project: Path, status: str, *, note: str = "") -> None:
    entry = CLAIM.replace('"not attempted"', f'"{status}"') + f'note = "{note}"\n'
    (project / "docs" / "claims.toml").write_text(f"readme = []\n{entry}")


def add_results(project: Path, *lines: str) -> None:
    (project / "benchmarks" / "results" / "attention.jsonl").write_text("\n".join(lines) + "\n")


def problems(project: Path) -> list[str]:
    return claims.build(project)[1]


def page(project: Path) -> str:
    return claims.build(project)[0][project / "docs" / "claims.md"]


def test_the_committed_pages_are_current_and_complete() -> None:
    assert claims.main(["--check"], ROOT) == 0


def test_a_complete_project_has_no_problem(project: Path) -> None:
    assert problems(project) == []


def test_writing_makes_the_check_pass(project: Path) -> None:
    assert claims.main([], project) == 0
    assert claims.main(["--check"], project) == 0


def test_a_stale_page_fails_the_check_and_is_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert claims.main(["--check"], project) == 1
    assert "docs/claims.md is stale" in capsys.readouterr().err
    assert not (project / "docs" / "claims.md").exists()


def test_a_figure_without_a_claim_is_named(project: Path) -> None:
    (project / "docs" / "features.md").write_text(FEATURES.replace("35 %", "36 %"))
    assert problems(project) == ["A1: no claim holds the figure 36"]


def test_digits_in_names_are_no_figures() -> None:
    assert claims.NUMBER.findall("an A100 runs GPT-4 in INT8 at 0.6/0.4, -67 % and 175K") == ["0.6", "0.4", "67", "175"]


def test_a_feature_without_any_claim_is_named(project: Path) -> None:
    with (project / "docs" / "features.md").open("a") as file:
        file.write("| B9 | Studio | pages | - |\n")
    assert problems(project) == ["B9: no claim at all"]


def test_a_claim_of_an_unknown_feature_is_named(project: Path) -> None:
    extra = CLAIM.replace("A1", "C7")
    (project / "docs" / "claims.toml").write_text(f"readme = []\n{CLAIM}{extra}")
    assert problems(project) == ["C7-speed: unknown feature C7"]


def test_the_same_id_twice_is_named(project: Path) -> None:
    (project / "docs" / "claims.toml").write_text(f"readme = []\n{CLAIM}{CLAIM}")
    assert "A1-speed: two claims have this id" in problems(project)


def test_an_unknown_status_is_named(project: Path) -> None:
    set_status(project, "great")
    assert "unknown status 'great'" in problems(project)[0]


def test_measured_without_a_result_is_a_problem(project: Path) -> None:
    set_status(project, "measured")
    assert "no result has claim 'A1-speed'" in problems(project)[0]


def test_measured_although_the_result_does_not_hold_is_a_problem(project: Path) -> None:
    set_status(project, "measured")
    add_results(project, result(holds=False))
    assert problems(project) == ["A1-speed: measured, but its result does not hold: say missed"]


def test_not_attempted_although_there_is_a_result_is_a_problem(project: Path) -> None:
    add_results(project, result())
    assert problems(project) == ["A1-speed: there is a result: say measured or missed"]


@pytest.mark.parametrize("status", ["missed", "predicted", "untestable"])
def test_whatever_is_not_measured_says_why(project: Path, status: str) -> None:
    set_status(project, status)
    add_results(project, result(holds=False))
    assert f"A1-speed: {status} needs a note that says why" in problems(project)


def test_a_result_stands_beside_its_claim(project: Path) -> None:
    set_status(project, "measured")
    add_results(project, result())
    assert "**measured** | 1.4 x (1.3 to 1.5), n = 5 |" in page(project)


def test_the_latest_of_two_results_counts(project: Path) -> None:
    set_status(project, "measured")
    add_results(project, result(value=1.1), result(value=1.6))
    assert "1.6 x" in page(project)
    assert "1.1 x" not in page(project)


@pytest.mark.parametrize("worse", [{"n": 3}, {"n": 0}, {"n": None}, {"load": 5.0}], ids=str)
def test_neither_a_quick_run_nor_a_noisy_one_replaces_a_better_one(project: Path, worse: dict[str, Any]) -> None:
    set_status(project, "measured")
    add_results(project, result(value=1.1), result(value=1.6, **worse))
    assert "1.1 x" in page(project)
    assert "1.6 x" not in page(project)


def test_a_partial_row_is_never_published_however_large_it_is(project: Path) -> None:
    assert claims.main([], project) == 0
    add_results(project, result(n=99, is_partial=True))
    assert claims.main(["--check"], project) == 0
    set_status(project, "measured")
    add_results(project, result(value=1.1, is_partial=False), result(value=1.6, n=99, is_partial=True))
    assert "1.1 x" in page(project)
    assert "1.6 x" not in page(project)


def test_a_larger_run_counts_even_on_a_noisy_machine_and_the_load_is_shown(project: Path) -> None:
    add_results(project, result(metric="loading", value=1.1), result(metric="loading", value=1.6, n=50, load=5.0))
    assert "| attention | loading | 1.6 x (1.3 to 1.5), n = 50 |" in page(project)
    assert "commit abcdef1, load 5.0 |" in page(project)


def test_files_that_differed_from_the_commit_stay_visible(project: Path) -> None:
    add_results(project, result(claim="", metric="loading", commit="abcdef123456+"))
    assert "commit abcdef1+ |" in page(project)


def test_results_without_a_claim_are_listed_after_the_claims(project: Path) -> None:
    add_results(project, result(claim="", metric="loading", value=2.0, unit="s", holds=None))
    head, _, tail = page(project).partition("## Other measurements")
    assert "loading" not in head
    assert "| attention | loading | 2 s (1.3 to 1.5), n = 5 | dense | 1.35 | - | 2 cores, commit abcdef1 |" in tail


def test_records_that_are_no_rows_are_passed_over(project: Path) -> None:
    add_results(project, json.dumps({"task": "one item of a run"}))
    assert "Other measurements" not in page(project)


def test_the_readme_shows_the_results_that_it_asks_for(project: Path) -> None:
    (project / "docs" / "claims.toml").write_text(f'readme = ["attention/loading"]\n{CLAIM}')
    add_results(project, result(claim="", metric="loading"))
    readme = claims.build(project)[0][project / "README.md"]
    assert "| attention | loading | 1.4 x" in readme
    assert "stale words" not in readme
    assert readme.endswith("\n\ntail\n")


def test_the_readme_cannot_ask_for_what_was_not_measured(project: Path) -> None:
    (project / "docs" / "claims.toml").write_text(f'readme = ["attention/dreams"]\n{CLAIM}')
    with pytest.raises(ValueError, match="no result for attention/dreams"):
        claims.build(project)


def test_a_readme_without_the_marks_is_an_error(project: Path) -> None:
    (project / "README.md").write_text("# Title\n")
    with pytest.raises(ValueError, match="the page lacks"):
        claims.build(project)
