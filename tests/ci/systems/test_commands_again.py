"""The command that is shown again judges the same subject."""

from __future__ import annotations

import shlex

import pytest

from kraftcheck.ci.systems.subject import parse_words, subject
from kraftcheck.model.language.system import ANY


@pytest.mark.parametrize("bounds", [{"brokers": 3}, {"brokers": ANY}, {}], ids=["three", "any", "as they are"])
def test_the_command_names_the_bounds_as_a_user_does(bounds: dict[str, int]) -> None:
    """Its flags give the bounds again, a bound of any number among them, which no user would type as a number."""
    chosen = subject("elections", "tiny", bounds, "fixed", proof=True)
    words = shlex.split(chosen.command("prove"))[2:]
    flags = ["--scope", "--rules"]
    kept = [word for at, word in enumerate(words) if word not in flags and words[at - 1] not in flags]
    parsed = parse_words(kept, flags)
    assert parsed.bounds(["brokers"], flags) == bounds
    assert len(chosen.command("prove")) < 80
