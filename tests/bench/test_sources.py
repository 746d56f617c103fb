"""The hash by which kept results are found again."""

from __future__ import annotations

from pathlib import Path

import pytest

from armillary.bench.codet_judge import JUDGING
from armillary.bench.solve import SOLVING
from armillary.bench.sources import source_sha256


def test_code_counts_and_its_comments_do_not(tmp_path: Path) -> None:
    path = tmp_path / "verify" / "levels" / "one.py"
    path.parent.mkdir(parents=True)
    path.write_text("LIMIT = 1\n")
    before = source_sha256(["verify/**/*.py"], tmp_path)
    path.write_text("# Enough.\nLIMIT = 1\n")
    assert source_sha256(["verify/**/*.py"], tmp_path) == before
    path.write_text("LIMIT = 2\n")
    assert source_sha256(["verify/**/*.py"], tmp_path) != before


@pytest.mark.parametrize("pattern", [*JUDGING, *SOLVING])
def test_every_pattern_of_a_topic_names_files_that_there_are(pattern: str) -> None:
    assert source_sha256([pattern]) != source_sha256([])
