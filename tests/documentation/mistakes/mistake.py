"""A mistake: what is written, what kraftcheck says of it, and what to write instead."""

from attrs import field, frozen


def _stripped(code: str) -> str:
    return code.removeprefix("\n")


@frozen
class Mistake:
    """A mistake."""

    title: str  # what it is, a heading of the page
    wrong: str = field(converter=_stripped)  # rules that have it
    says: str  # the one line of the refusal, without the name of the program; or the lines of the report about it
    right: str = field(converter=_stripped)  # the rules without it
    code: int = 2  # the exit code
