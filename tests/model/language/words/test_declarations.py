"""The page's table of declarations is true: each example can be written, and what lies beyond a limit is refused."""

from __future__ import annotations

import pytest

import kraftcheck as kc
from kraftcheck.model.language.layout import LayoutError
from tests.model.language.words import example
from tests.model.language.words.declarations import DECLARATIONS, NAMES, Declaration


@pytest.mark.parametrize("one", DECLARATIONS, ids=lambda one: one.word)
def test_a_declaration_can_be_written(one: Declaration) -> None:
    """Its example has a value, and, where it is a name of the package, has that name or makes one of its kind."""
    assert eval(one.text, {**example.NAMES, **NAMES}) is not None


@pytest.mark.parametrize("one", [one for one in DECLARATIONS if one.beyond], ids=lambda one: one.word)
def test_what_lies_beyond_a_limit_is_refused(one: Declaration) -> None:
    """The refusal names the limit, or the part of the system."""
    assert one.beyond is not None
    with pytest.raises((kc.Refusal, LayoutError)) as refused:
        one.beyond()
    assert one.says in str(refused.value)
