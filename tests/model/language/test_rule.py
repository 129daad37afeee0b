"""The decorator of rules: it notes a rule on a function, and changes nothing else."""

from __future__ import annotations

import inspect

import pytest

from kraftcheck.model.language.words import Rule, RuleError, first_sentence, rule, rules_of


def test_the_function_itself_is_returned() -> None:
    """There is no wrapper: the decorated name is the function as written, with its own source and code."""

    def doubled(n: int) -> int:
        """Twice as much. Always."""
        return 2 * n

    code, source = doubled.__code__, inspect.getsource(doubled)
    noted = rule("number.doubled", source="KIP-966")(doubled)
    assert noted is doubled
    assert (noted.__code__, inspect.getsource(noted), noted(2)) == (code, source, 4)
    assert rules_of(noted) == (Rule("number.doubled", "KIP-966", (), "Twice as much."),)


def test_a_function_states_several_rules_in_the_order_written() -> None:
    """Each decorator adds a rule; the topmost comes first."""

    @rule("elr.first", source="KIP-966", switches=("a",), says="One.")
    @rule("elr.second", source="KIP-966", says="Two.")
    def stated() -> None:
        """Three."""

    assert [(one.id, one.switches, one.says) for one in rules_of(stated)] == [
        ("elr.first", ("a",), "One."),
        ("elr.second", (), "Two."),
    ]
    assert rules_of(len) == ()


@pytest.mark.parametrize("wrong", ["isr", "Isr.join", "isr..join", "isr.join_it", ".isr", "isr.join.", "isr. join"])
def test_an_id_that_is_not_well_formed_is_refused(wrong: str) -> None:
    """An id is words of small letters and digits, joined by hyphens, with a dot at least."""
    with pytest.raises(RuleError, match="is no rule id"):
        rule(wrong, source="KIP-966")


def test_a_sentence_ends_at_its_full_stop() -> None:
    """A version number or a name with a dot does not end a sentence, nor does the end of a line."""
    assert first_sentence("From 4.1.2 on `a.b`\n    counts. More.\n\n    Even more.") == "From 4.1.2 on `a.b` counts."
    assert first_sentence(None) == ""
