"""A dataset that the tests of this folder ask."""

import re
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck


@pytest.fixture(scope="session")
def elections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny elections under the right rules, explored natively and kept as a dataset."""
    out = tmp_path_factory.mktemp("elections") / "out"
    ran = kraftcheck("explore", "elections", "--scope", "tiny", "--rules", "fixed", "--engine", "spark", "--out", out,
                     "--quiet")  # fmt: skip
    assert re.fullmatch(r"\d+ holds \(exit 0\)", ran.last), ran.err
    return out
