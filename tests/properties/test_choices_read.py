"""Choices and the systems that read them: the fingerprints of traced programs decide, so that no list goes stale."""

from __future__ import annotations

from functools import cache

import pytest

from kraftcheck.model.rules.ruleset import GROUP_OF, GROUPS, RIGHT, RuleSet
from kraftcheck.model.rules.vocabulary import Vocabulary, vocabulary
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.program import verdict
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.trace import trace
from tests.shared.samples import one_in


@pytest.fixture(autouse=True)
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule is asked once, for half the time: that it answers alike twice, every trace of the check holds."""
    monkeypatch.setattr(verdict, "ask_twice", lambda what, question, *rules: verdict.ask(what, question, *rules[:1]))


ROWS = {(*row, ()) for row in EXPECTED} | {(b.system, b.scope, b.rules, tuple(b.bounds.items())) for b in BUGS}
"""Rows with a verdict: system, scope, rule set, bounds."""


@cache
def program(system: str, scope: str, rules: RuleSet, bounds: tuple[tuple[str, int], ...] = ()) -> str:
    """What a system is at a setting."""
    return fingerprint(trace(SYSTEMS[system], SYSTEMS[system].setting(scope, dict(bounds), rules)))


def words_of(system: str) -> Vocabulary:
    """What the rule sets of a system may name."""
    found = vocabulary(SYSTEMS[system])
    assert found is not None
    return found


@pytest.mark.parametrize("system", one_in(3, SYSTEMS))
def test_every_variant_of_a_row_changes_its_program(system: str) -> None:
    """A verdict expected under a variant, alone or beside others, is about a program that the variant changes."""
    unread, looked_at = [], 0
    for name, scope, rules, bounds in sorted(ROWS):
        if name != system:
            continue
        words = words_of(system)
        spelling = words.spelling(rules)
        for variant, on in spelling.switches:
            looked_at += 1
            without = words.rules(spelling).switched(**{words.choices[variant].name: not on})
            if program(system, scope, words.rules(spelling), bounds) == program(system, scope, without, bounds):
                unread.append((scope, bounds, rules, variant))
    assert unread == []
    assert looked_at >= 3


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_variant_that_refutes_is_of_a_group_that_the_system_declares(system: str) -> None:
    """`refuted_by` names choices that the system reads."""
    words = words_of(system)
    claims = SYSTEMS[system].properties(SYSTEMS[system].setting(rules=words.parse("kip")))
    named = {name for claim in claims for variant in claim.refuted_by for name in variant.split("+")}
    assert named
    assert {name for name in named if words.group(name) not in words.declared} == set()


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_group_that_a_system_declares_changes_it(system: str) -> None:
    """With all choices of a declared group switched, the program is another at some scope."""
    for group in words_of(system).declared:
        switched = RIGHT.switched(**{name: not RIGHT.value(name) for name in GROUP_OF if GROUP_OF[name] == group})
        scopes = SYSTEMS[system].scopes
        assert any(program(system, scope, RIGHT) != program(system, scope, switched) for scope in scopes), group


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_group_that_a_system_leaves_out_changes_it(system: str) -> None:
    """With every choice of all other groups switched, each scope has the same program."""
    declared = words_of(system).declared
    left_out = {choice: not RIGHT.value(choice) for choice, group in GROUP_OF.items() if group not in declared}
    assert set(GROUPS) - set(declared)
    for scope in SYSTEMS[system].scopes:
        assert program(system, scope, RIGHT) == program(system, scope, RIGHT.switched(**left_out)), scope
