"""Text of strangers: neither a terminal nor a CI service obeys it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.visible import visible, visible_lines

ANY_TEXT = st.text(st.characters())


@given(ANY_TEXT)
def test_a_shown_text_is_one_line_that_utf_8_has(text: str) -> None:
    """No control character, end of a line, direction mark or surrogate is left in what is shown."""
    shown = visible(text)
    assert len(shown.splitlines()) <= 1
    assert shown.encode().decode() == shown
    assert not set(shown) & {chr(code) for code in [*range(32), *range(127, 160), 0x202E, 0x2066, 0x2028, 0xFEFF]}


@pytest.mark.parametrize("command", ["::error::no", "  ::add-mask::holds", "##[error]no", " ::stop-commands::x"])
def test_no_line_is_a_command_of_the_job(command: str) -> None:
    """A line that GitHub Actions or Azure Pipelines would obey begins otherwise when it is shown."""
    for line in (visible(command), *visible_lines(f"a\n{command}").split("\n")):
        assert not line.strip().startswith(("::", "##["))


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    """Letters, figures, marks and signs are not changed."""
    assert visible(text).removeprefix("\\") == text or text.startswith("\\")
