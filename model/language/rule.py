"""Rules with a name: an id, a source and the choices that change it, kept on the function that states the rule.

A rule is one statement about Kafka's behaviour. A function may state several.
`kraftcheck where` finds them, and properties name the rules that they check.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

_MARK = "__kraftcheck_rules__"
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+")

F = TypeVar("F", bound=Callable[..., Any])


class RuleError(ValueError):
    """A rule whose id has no dot, or holds other characters than `a-z`, digits, hyphens and dots."""


@frozen
class Rule:
    """One statement about Kafka's behaviour.

    Attributes:
        id: words joined by hyphens, from the general to the particular, joined by dots.
        source: citations, separated by semicolons; their forms are in `kraftcheck.properties.register.citations`.
        switches: the choices of a rule set that change the rule, as the command line spells them.
        says: the rule as one sentence.
    """

    id: str
    source: str
    switches: tuple[str, ...]
    says: str


def rule(id: str, *, source: str, switches: tuple[str, ...] = (), says: str = "") -> Callable[[F], F]:  # noqa: A002
    """A decorator that notes a rule on a function and returns that function itself.

    There is no wrapper, so a trace, a mutant and a traceback see the function as it is written.

    >>> @rule("isr.join.unfenced", source="KIP-841")
    ... def may_join(fenced):
    ...     '''A broker joins the ISR only while it is unfenced.'''
    >>> rules_of(may_join)[0].says
    'A broker joins the ISR only while it is unfenced.'

    Args:
        id: see `Rule`.
        source: see `Rule`.
        switches: see `Rule`.
        says: the sentence; where it is empty, the first one of the function's docstring.

    Raises:
        RuleError: for an id that is not well formed.
    """
    if not _ID.fullmatch(id):
        raise RuleError(f"{id!r} is no rule id: words of a-z and digits, joined by hyphens and at least one dot")

    def note(function: F) -> F:
        noted = Rule(id, source, switches, says or first_sentence(function.__doc__))
        setattr(function, _MARK, (noted, *rules_of(function)))
        return function

    return note


def rules_of(function: object) -> tuple[Rule, ...]:
    """The rules that are noted on a function, in the order in which they are written."""
    found: tuple[Rule, ...] = getattr(function, _MARK, ())
    return found


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring on one line; a paragraph that has no full stop is one sentence.

    >>> first_sentence('''The ISR shrinks. Then the epoch rises.''')
    'The ISR shrinks.'
    """
    paragraph = " ".join((text or "").strip().split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", paragraph)[0]
