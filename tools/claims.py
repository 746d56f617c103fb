"""Write ``docs/claims.md`` and the README's table from ``docs/claims.toml`` and the benchmark results.

Measures nothing and changes no status: a status that the results do not bear out is an error here.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marked_block import replace_block

from armillary.bench.machine import MAX_LOAD_PER_CORE
from armillary.bench.rows import read_records

STATUSES = ("measured", "missed", "predicted", "untestable", "not attempted")
NEEDS_NOTE = ("missed", "predicted", "untestable")
NEEDS_ROW = ("measured", "missed")
# A figure: not the digit of a name such as A100 or GPT-4.
NUMBER = re.compile(r"(?<![A-Za-z0-9.])(?<![A-Za-z]-)\d+(?:\.\d+)?")
MARKS = ("<!-- measured: begin, written by tools/claims.py -->", "<!-- measured: end -->")


@dataclass(frozen=True)
class Claim:
    """One entry of ``claims.toml``; the fields are explained there."""

    id: str
    feature: str
    text: str
    target: str
    status: str
    bench: str = ""
    metric: str = ""
    note: str = ""
    figures: list[str] = field(default_factory=list)


Row = dict[str, Any]


class Problems(list[str]):
    """What is wrong, one line each, in the order of finding."""


@dataclass(frozen=True)
class Ledger:
    """All of ``claims.toml``: the claims, and the results that the README shows as ``topic/metric``."""

    claims: list[Claim]
    readme: list[str]


def read_ledger(path: Path) -> Ledger:
    """The claims in order, and what the README shows.

    Raises:
        TypeError: an entry has an unknown field or lacks one.
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return Ledger([Claim(**entry) for entry in tables["claim"]], tables["readme"])


def read_features(path: Path) -> dict[str, str]:
    """Row number of ``features.md`` -> its last two columns."""
    rows = re.findall(
        r"^\| ([AB]\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", path.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {number: f"{duty} {claim}" for number, duty, claim in rows}


def read_results(folder: Path) -> list[Row]:
    """Every benchmark row; of rows with the same topic, claim and metric only one stays.

    It is the last of those with the largest ``n``, and among them of those on a quiet machine: neither a quick run nor
    a noisy one replaces a better one, and a row that calls itself partial is passed over. To withdraw a row, remove it
    from its file and say so in ``docs/log.md``.
    """
    best: dict[tuple[str, str, str], Row] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for row in read_records(path):
            if not {"claim", "metric", "value"} <= row.keys() or row.get("is_partial"):
                continue
            key = path.stem, row["claim"], row["metric"]
            if key not in best or _worth(row) >= _worth(best[key]):
                best[key] = row | {"topic": path.stem}
    return list(best.values())


def _worth(row: Row) -> tuple[int, bool]:
    return row.get("n") or 0, not _is_noisy(row)


def _is_noisy(row: Row) -> bool:
    return (row.get("load") or 0.0) > MAX_LOAD_PER_CORE * (row.get("threads") or 1)


def find_problems(claims: Sequence[Claim], features: dict[str, str], rows: Sequence[Row]) -> Problems:
    """Whatever keeps the page from being complete and honest."""
    problems = Problems()
    ids = [claim.id for claim in claims]
    problems += [f"{name}: two claims have this id" for name in sorted({name for name in ids if ids.count(name) > 1})]
    for feature, text in features.items():
        given = {number for claim in claims if claim.feature == feature for number in _numbers(claim.figures)}
        problems += [
            f"{feature}: no claim holds the figure {number}" for number in NUMBER.findall(text) if number not in given
        ]
        if feature not in {claim.feature for claim in claims}:
            problems.append(f"{feature}: no claim at all")
    for claim in claims:
        problems += [f"{claim.id}: {problem}" for problem in _problems_of(claim, features, rows)]
    return problems


def _numbers(figures: Sequence[str]) -> list[str]:
    return [number for figure in figures for number in NUMBER.findall(figure)]


def _problems_of(claim: Claim, features: dict[str, str], rows: Sequence[Row]) -> list[str]:
    found = row_of(claim, rows)
    problems = []
    if claim.feature not in features:
        problems.append(f"unknown feature {claim.feature}")
    if claim.status not in STATUSES:
        problems.append(f"unknown status {claim.status!r}, known: {', '.join(STATUSES)}")
    if claim.status in NEEDS_NOTE and not claim.note:
        problems.append(f"{claim.status} needs a note that says why")
    if claim.status in NEEDS_ROW and found is None:
        problems.append(f"{claim.status}, but no result has claim {claim.id!r} and metric {claim.metric!r}")
    if claim.status == "measured" and found is not None and found.get("holds") is False:
        problems.append("measured, but its result does not hold: say missed")
    if claim.status == "not attempted" and found is not None:
        problems.append("there is a result: say measured or missed")
    return problems


def row_of(claim: Claim, rows: Sequence[Row]) -> Row | None:
    """The result that answers a claim."""
    return next((row for row in rows if row["claim"] == claim.id and row["metric"] == claim.metric), None)


def render(claims: Sequence[Claim], features: Sequence[str], rows: Sequence[Row]) -> str:
    """The page ``docs/claims.md``."""
    lines = [
        "# Claims",
        "",
        "Written by `tools/claims.py` from `docs/claims.toml` and `benchmarks/results/`; do not edit.",
        "What the articles claim stands in [features.md](features.md); here is what became of it.",
        "",
        "| status | claims |",
        "|---|--:|",
        *(f"| {status} | {sum(claim.status == status for claim in claims)} |" for status in STATUSES),
        "",
        "| claim | what is claimed | figures | what we hold ourselves to | status | measured |",
        "|---|---|---|---|---|---|",
    ]
    for feature in features:
        lines += [_claim_line(claim, row_of(claim, rows)) for claim in claims if claim.feature == feature]
    answered = {(claim.id, claim.metric) for claim in claims}
    others = [row for row in rows if (row["claim"], row["metric"]) not in answered]
    if others:
        lines += ["", "## Other measurements", "", *_measurement_table(others)]
    return "\n".join(lines) + "\n"


def _claim_line(claim: Claim, row: Row | None) -> str:
    measured = _value(row) if row is not None else (f"`bench {claim.bench}`" if claim.bench else "")
    status = f"**{claim.status}**" + (f": {claim.note}" if claim.note else "")
    figures = ", ".join(claim.figures) or "-"
    return f"| {claim.id} | {claim.text} | {figures} | {claim.target} | {status} | {measured} |"


def _measurement_table(rows: Sequence[Row]) -> list[str]:
    columns = ("topic", "metric", "value", "baseline", "target", "holds", "on")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in rows:
        cells = [row["topic"], row["metric"], _value(row)]
        cells += [_text(row.get(name)) for name in ("baseline", "target", "holds")]
        lines.append(f"| {' | '.join([*cells, _place(row)])} |")
    return lines


def _place(row: Row) -> str:
    """Where it was measured; a ``+`` after the commit says that files differed from it, a load that others worked."""
    commit = _text(row.get("commit"))
    changed = "+" if commit.endswith("+") else ""
    noise = f", load {row['load']:.1f}" if _is_noisy(row) else ""
    return f"{_text(row.get('hardware'))}, commit {commit.removesuffix('+')[:7]}{changed}{noise}"


def _value(row: Row) -> str:
    text = f"{_text(row['value'])} {row.get('unit') or ''}".rstrip()
    if row.get("interval"):
        text += f" ({' to '.join(_text(end) for end in row['interval'])})"
    return f"{text}, n = {row['n']}" if row.get("n") else text


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")


def render_readme(wanted: Sequence[str], rows: Sequence[Row]) -> str:
    """The README's table: the wanted results in the wanted order.

    Raises:
        ValueError: a wanted result does not exist.
    """
    by_name = {f"{row['topic']}/{row['metric']}": row for row in rows}
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise ValueError(f"no result for {', '.join(missing)}")
    return "\n".join(_measurement_table([by_name[name] for name in wanted])) if wanted else "Nothing measured yet."


def build(root: Path) -> tuple[dict[Path, str], Problems]:
    """Both pages as they should stand, and what is wrong with their sources."""
    ledger = read_ledger(root / "docs" / "claims.toml")
    features = read_features(root / "docs" / "features.md")
    rows = read_results(root / "benchmarks" / "results")
    readme = root / "README.md"
    pages = {
        root / "docs" / "claims.md": render(ledger.claims, list(features), rows),
        readme: replace_block(readme.read_text(encoding="utf-8"), render_readme(ledger.readme, rows), MARKS),
    }
    return pages, find_problems(ledger.claims, features, rows)


def main(arguments: Sequence[str], root: Path) -> int:
    """Write both pages, or with ``--check`` only compare; 1 when something is wrong."""
    pages, problems = build(root)
    for path, text in pages.items():
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            problems.append(f"{path.relative_to(root)} is stale: run `make pages`")
    for problem in problems:
        print(f"claims: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], Path(__file__).resolve().parent.parent))
