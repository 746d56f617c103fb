"""Write the tables of ``docs/sandbox.md``: attacks, honest programs and cheats, with what came of each here.

Takes minutes, as it runs them all; ``--check`` runs nothing and compares names, layers and counts. It measures no time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from marked_block import replace_block

from armillary.bench.attack_form import JAIL_LAYERS, KEEPER_LAYERS, PARENT_LAYERS
from armillary.bench.attack_table import (
    GRADERS,
    AttackRow,
    CheatRow,
    ControlRow,
    HonestRow,
    run_attacks,
    run_cheats,
    run_controls,
    run_honest,
    run_single_layers,
)
from armillary.bench.attacks import ATTACKS
from armillary.bench.cheats import CHEATS
from armillary.bench.cheats_on_graders import REPORTS
from armillary.bench.honest import HONEST

NAMES: Final = ("attacks", "honest programs", "cheats")


@dataclass(frozen=True)
class Results:
    """All rows of one run; attacks and honest programs first of tier A, then of tier B."""

    attacks: Sequence[AttackRow]
    controls: Sequence[ControlRow]
    singles: Sequence[ControlRow]
    honest: Sequence[HonestRow]
    cheats: Sequence[CheatRow]


def marks(name: str) -> tuple[str, str]:
    """What stands around a generated table."""
    return f"<!-- {name}: begin, written by tools/attack_tables.py -->", f"<!-- {name}: end -->"


def measure() -> Results:
    """Run everything."""
    return Results(
        attacks=[*run_attacks("A"), *run_attacks("B")],
        controls=run_controls(),
        singles=run_single_layers(),
        honest=[*run_honest("A"), *run_honest("B")],
        cheats=run_cheats(),
    )


def expected(cheats: Sequence[CheatRow]) -> Results:
    """What should come of everything; of cheats there is nothing to expect beyond what they came to."""
    return Results(
        attacks=[AttackRow(item.name, tier, item.layers, True, 0) for tier in ("A", "B") for item in ATTACKS],
        controls=[ControlRow(item.name, item.layers, not item.no_control or None, item.no_control) for item in ATTACKS],
        singles=[
            ControlRow(item.name, item.layers, False)
            for item in ATTACKS
            if len(item.layers) > 1 and not item.no_control
            for _ in item.layers
        ],
        honest=[
            HonestRow(item.name, tier, True)
            for tier in ("A", "B")
            for item in HONEST
            if tier == "A" or not item.needs_folder
        ],
        cheats=cheats,
    )


def render_attacks(results: Results) -> str:
    """How many attacks each layer holds, then one line per attack."""
    stopped = {(row.name, row.tier): row.is_stopped and not row.num_left for row in results.attacks}
    num_shown = sum(row.has_succeeded is True for row in results.controls)
    lines = [
        f"{len(ATTACKS)} attacks: {sum(stopped[item.name, 'A'] for item in ATTACKS)} are stopped in tier A and "
        f"{sum(stopped[item.name, 'B'] for item in ATTACKS)} in tier B. With the layers that stop them left out "
        f"{num_shown} succeed; {sum(row.has_succeeded is None for row in results.controls)} were not tried so. "
        f"Where several layers are named, one of them was left on and the others out: {_singles_words(results)}",
        "",
        *_table(("layer", "attacks that it stops alone", "attacks that it helps to stop"), _layer_cells()),
        "",
    ]
    cells = [
        (
            _words(row.name),
            ", ".join(row.layers),
            *("stopped" if stopped[row.name, tier] else "**ESCAPED**" for tier in ("A", "B")),
            _control_words(row),
        )
        for row in results.controls
    ]
    head = ("the attack", "any of these stops it", "tier A", "tier B", "without them")
    return "\n".join([*lines, *_table(head, cells)])


def _singles_words(results: Results) -> str:
    failed = [
        f"{_words(row.name)} without {', '.join(row.layers)}"
        for row in results.singles
        if row.has_succeeded or row.reason
    ]
    text = f"{len(results.singles) - len(failed)} of {len(results.singles)} such tries were stopped"
    return f"{text}, all but **{'; '.join(failed)}**." if failed else f"{text}."


def _layer_cells() -> Iterable[tuple[str, ...]]:
    for layer in (*JAIL_LAYERS, *KEEPER_LAYERS, *PARENT_LAYERS):
        alone = sum(item.layers == (layer,) for item in ATTACKS)
        yield layer, str(alone), str(sum(layer in item.layers for item in ATTACKS) - alone)


def _control_words(row: ControlRow) -> str:
    if row.has_succeeded is None:
        return f"not tried: {row.reason}"
    return "succeeds" if row.has_succeeded else f"**fails** {row.reason}".rstrip()


def render_honest(results: Results) -> str:
    """One line per honest program."""
    found = {(row.name, row.tier): "works" if row.is_unharmed else "**BROKEN**" for row in results.honest}
    num_broken = sum(not row.is_unharmed for row in results.honest)
    cells = [
        (_words(item.name), *(found.get((item.name, tier), "no folder") for tier in ("A", "B"))) for item in HONEST
    ]
    return "\n".join([f"{len(HONEST)} programs, {num_broken} broken.", "", *_table(("it", "tier A", "tier B"), cells)])


def render_cheats(results: Results) -> str:
    """One line per cheat."""
    num_beaten = sum(row.beats_in_process for row in results.cheats)
    ours = sum(bool(row.accepted_by) for row in results.cheats)
    past = sum(bool(row.past_policy) for row in results.cheats)
    ideas = {cheat.name: cheat.idea for cheat in CHEATS}
    head = ("cheat", "idea", "grader in its process", *GRADERS, "past the policy")
    cells = [
        (
            row.name,
            ideas[row.name],
            "**passed**" if row.beats_in_process else "failed",
            *row.statuses,
            f"**deceives {', '.join(row.past_policy)}**" if row.past_policy else "deceives none",
        )
        for row in results.cheats
    ]
    total = len(results.cheats)
    printers = {cheat.name for cheat in REPORTS}
    by_words = sum(row.beats_in_process for row in results.cheats if row.name in printers)
    return "\n".join(
        [
            f"Of {total} cheats {num_beaten} beat a grader in their own process, {by_words} of them only by what they "
            f"print, {ours} one of ours, and {past} one of "
            "ours without its policy.",
            "",
            *_table(head, cells),
        ]
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _words(name: str) -> str:
    return name.replace("_", " ")


def render(page: str, results: Results) -> str:
    """The page with its three tables replaced.

    Raises:
        ValueError: the page lacks their marks.
    """
    blocks = (render_attacks(results), render_honest(results), render_cheats(results))
    for name, block in zip(NAMES, blocks, strict=True):
        page = replace_block(page, f"\n{block}\n", marks(name))
    return page


def read_cheats(page: str) -> list[CheatRow]:
    """The rows of cheats as the page shows them."""
    block = page.partition(marks("cheats")[0])[2]
    lines = [line.strip("| ").split(" | ") for line in block.splitlines() if re.match(r"\| (?!cheat \||---)", line)]
    return [
        CheatRow(
            name=cells[0],
            beats_in_process=cells[2] == "**passed**",
            accepted_by=(),
            past_policy=() if cells[-1] == "deceives none" else ("some",),
            statuses=tuple(cells[3:-1]),
        )
        for cells in lines
    ]


def find_problems(page: str) -> list[str]:
    """What in the page does not fit the programs, or is not as it should be."""
    cheats = read_cheats(page)
    if [row.name for row in cheats] != [cheat.name for cheat in CHEATS]:
        return ["other cheats than in armillary.bench.cheats"]
    return [] if render(page, expected(cheats)) == page else ["other programs, layers or outcomes than expected"]


def main(arguments: Sequence[str], root: Path) -> int:
    """Run everything and write the page, or with ``--check`` only compare; 1 when something is wrong."""
    path = root / "docs" / "sandbox.md"
    page = path.read_text(encoding="utf-8")
    if "--check" not in arguments:
        page = render(page, measure())
        path.write_text(page, encoding="utf-8")
    problems = find_problems(page)
    for problem in problems:
        print(f"attack tables: docs/sandbox.md: {problem}; run tools/attack_tables.py", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], Path(__file__).resolve().parent.parent))
