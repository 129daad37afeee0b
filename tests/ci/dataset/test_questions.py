"""The catalogue of questions has the answers that the space gives."""

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.store.dataset import Dataset
from tests.ci.dataset.questions import QUESTIONS, answered, page
from tests.ci.dataset.test_engines import compared
from tests.ci.dataset.test_query import on_spark


def test_the_answers_of_the_catalogue_are_true(elections: Path) -> None:
    """Each of the twenty questions has on the page, made of files, the answer that DuckDB gives of a space by Spark."""
    assert len(QUESTIONS) == 20
    assert page() == answered(Dataset.open(elections))


@on_spark
@pytest.mark.slow
def test_spark_answers_the_catalogue(elections: Path, session: Any) -> None:
    """Spark gives the same answers to all twenty."""
    assert compared(Dataset.open(elections), session, list(QUESTIONS.values())) > 80
