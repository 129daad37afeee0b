"""The words of a command line that are no options: one system, and its bounds as flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
from attrs import frozen

from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.bound import ANY
from kraftcheck.model.nearest import nearest

EXPLORE_OPTIONS = "kraftcheck explore --help"
"""The command that shows the options among which bounds may stand."""


@frozen
class CommandWords:
    """The free words of a command line: one system, and flags with ints or `any`.

    Attributes:
        system: the system named.
        flags: the other flags without dashes, with the text given.
    """

    system: str
    flags: Mapping[str, str]

    def bounds(self, names: Sequence[str], options: Sequence[str]) -> dict[str, int]:
        """The flags as values of bounds; `any` is that of one that bounds nothing.

        Args:
            names: the bounds of the system.
            options: the command's own options, for suggestions.

        Raises:
            Refusal: for an unknown flag (nearest names given) or a value that is no int.
        """
        for name, value in self.flags.items():
            if name not in names:
                flags = [f"--{bound}" for bound in names]
                raise Refusal(f"unknown option --{name}; {nearest(f'--{name}', [*flags, *options], EXPLORE_OPTIONS)}")
            if value != "any" and not (value.isascii() and value.removeprefix("-").isdigit() and len(value) < 20):
                raise Refusal(f"--{name} takes an int, not {value!r}")
        return {name: ANY if value == "any" else int(value) for name, value in self.flags.items()}


def own_options() -> list[str]:
    """The options of the running command, for suggestions."""
    parameters = click.get_current_context().command.params
    return [flag for parameter in parameters for flag in parameter.opts if flag.startswith("--")]


def system_and_bounds(words: Sequence[str]) -> tuple[str, dict[str, int]]:
    """The system among the free words of the running command, and the values of its bounds.

    Raises:
        Refusal: as `parse_words` and `CommandWords.bounds` do, and for a system that there is not.
    """
    options = own_options()
    parsed = parse_words(words, options)
    return parsed.system, parsed.bounds([bound.name for bound in find_system(parsed.system).bounds], options)


def parse_words(words: Sequence[str], options: Sequence[str]) -> CommandWords:
    """The system and the flags `--NAME N` or `--NAME=N` among the free words, in any order.

    Raises:
        Refusal: when there is no system or more than one, or a flag is given twice or without a value.
    """
    rest, systems, flags = list(words), [], {}
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            systems.append(word)
            continue
        if not word.startswith("--"):
            raise Refusal(f"unknown option {word}; {nearest(word, options, EXPLORE_OPTIONS)}")
        name, equals, value = word.removeprefix("--").partition("=")
        if not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("--") else ""
        if name in flags:
            raise Refusal(f"--{name} is given twice")
        flags[name] = value
    if not systems:
        unknown = [f"--{name}" for name, value in flags.items() if value and not value.lstrip("-").isdigit()]
        if unknown:
            raise Refusal(f"unknown option {unknown[0]}; {nearest(unknown[0], options, EXPLORE_OPTIONS)}")
        raise Refusal("missing argument SYSTEM")
    if len(systems) > 1:
        raise Refusal(f"one SYSTEM at a time; {', '.join(map(repr, systems[1:]))} is too much")
    return CommandWords(systems[0], flags)
