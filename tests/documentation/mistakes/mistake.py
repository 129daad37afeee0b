"""A mistake: what is written, what kraftcheck says of it, and what to write instead."""

from __future__ import annotations

from attrs import field, frozen


def _stripped(code: str) -> str:
    return code.removeprefix("\n")


@frozen
class Mistake:
    """A mistake.

    Attributes:
        title: what it is, a heading of the page.
        wrong: rules that have it.
        says: the one line of the refusal, without the name of the program; or the lines of the report about it.
        right: the rules without it.
        code: the exit code.
    """

    title: str
    wrong: str = field(converter=_stripped)
    says: str
    right: str = field(converter=_stripped)
    code: int = 2
