"""The free words of a command line: one system, and bounds as flags among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.nearest import nearest

EXPLORE_OPTIONS = "kraftcheck explore --help"
"""The command that shows the options among which bounds may stand."""


@frozen
class Words:
    """The free words of a command line: one system, and flags with ints.

    Attributes:
        system: the system named.
        flags: the other flags without dashes, with the text given.
    """

    system: str
    flags: Mapping[str, str]

    def bounds(self, known: Sequence[str], options: Sequence[str]) -> dict[str, int]:
        """The flags as values of bounds.

        Args:
            known: the bounds of the system.
            options: the command's own options, for suggestions.

        Raises:
            Refusal: for an unknown flag (nearest names given) or a value that is no int.
        """
        for name, value in self.flags.items():
            if name not in known:
                flags = [f"--{bound}" for bound in known]
                raise Refusal(f"unknown option --{name}; {nearest(f'--{name}', [*flags, *options], EXPLORE_OPTIONS)}")
            if not (value.isascii() and value.removeprefix("-").isdigit() and len(value) < 20):
                raise Refusal(f"--{name} takes an int, not {value!r}")
        return {name: int(value) for name, value in self.flags.items()}


def parse_words(words: Sequence[str], options: Sequence[str]) -> Words:
    """The system and the flags `--NAME N` or `--NAME=N` among the free words, in any order.

    Raises:
        Refusal: when there is no system or more than one, or a flag is given twice or without a value.
    """
    left, systems, flags = list(words), [], {}
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            systems.append(word)
            continue
        if not word.startswith("--"):
            raise Refusal(f"unknown option {word}; {nearest(word, options, EXPLORE_OPTIONS)}")
        name, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            value = left.pop(0) if left and not left[0].startswith("--") else ""
        if name in flags:
            raise Refusal(f"--{name} is given twice")
        flags[name] = value
    if not systems:
        odd = [f"--{name}" for name, value in flags.items() if value and not value.lstrip("-").isdigit()]
        if odd:
            raise Refusal(f"unknown option {odd[0]}; {nearest(odd[0], options, EXPLORE_OPTIONS)}")
        raise Refusal("missing argument SYSTEM")
    if len(systems) > 1:
        raise Refusal(f"one SYSTEM at a time; {', '.join(map(repr, systems[1:]))} is too much")
    return Words(systems[0], flags)
