"""The benchmark of the models prints their sizes, and fails where one is not the published one."""

from __future__ import annotations

import pytest
from attrs import evolve

from tests.examples.published import bench
from tests.examples.published.models import MODELS


def test_the_table_has_a_line_for_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    """A model that is named is measured, and no other."""
    assert bench.main(["die-hard"]) == 0
    heading, row, verdict = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["die-hard", "16", "8"]
    assert row.split()[-3:] == ["1", "-", "-"]
    assert len(row) == len(heading)
    assert verdict == "every size is the published one"


def test_another_size_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model with another number of states or another depth is named, and the exit code is 1."""
    wrong = evolve(next(model for model in MODELS if model.name == "die-hard"), distinct=17, levels=9)
    monkeypatch.setattr(bench, "MODELS", [wrong])
    assert bench.main([]) == 1
    out = capsys.readouterr().out
    assert "die-hard: distinct 16, published 17" in out
    assert "die-hard: depth 8, published 9" in out


def test_a_model_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name ends with the exit code 2 and a line that names it."""
    with pytest.raises(SystemExit, match="2"):
        bench.main(["die-hart"])
    assert "there is no model die-hart; --help lists them" in capsys.readouterr().err


@pytest.mark.slow
def test_tlc_is_measured_in_the_same_run(capsys: pytest.CaptureFixture[str]) -> None:
    """TLC finds the same states of the same rules, and its seconds stand in the line; a refuted claim is left out."""
    assert bench.main(["--tlc", "die-hard"]) == 0
    row = capsys.readouterr().out.splitlines()[-2]
    assert float(row.split()[-2]) > 0
