"""Refusal of values that click accepts and nobody means: empty words, options given twice, odd numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click
from click.core import ParameterSource

from kraftcheck.ci.terminal.refusal import Refusal

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
"""A number as people type it; Python reads `nan`, `1_000` and the digits of every script too."""


def check_words(command: click.Command, words: Sequence[str], parent: click.Context) -> None:
    """Refuse words that a command would take for something else than was meant.

    Raises:
        Refusal: for an empty value, an option given twice of which only the last would count, and a number
            that is not finite or not written in ASCII digits.
    """
    context = click.Context(command, parent=parent, info_name=command.name, **command.context_settings)
    values, _, order = command.make_parser(context).parse_args(list(words))
    for parameter in command.params:
        if not isinstance(parameter, click.Option):
            name = parameter.human_readable_name
        else:
            name = parameter.opts[-1]
            if order.count(parameter) > 1 and not (parameter.multiple or parameter.is_flag):
                raise Refusal(f"{name} is given twice; give it once")
        value = values.get(parameter.name or "")
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str):
                _check(name, text, parameter)


def _check(name: str, text: str, parameter: click.Parameter) -> None:
    if not text:
        raise Refusal(f"{name} is empty; give a value, or leave it out")
    number = isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType)
    if number and not NUMBER.fullmatch(text):
        raise Refusal(f"{name} takes a finite number in the digits 0 to 9, not {text[:40]!r}")


def check_idle(reason: str, *names: str) -> None:
    """Refuse options of the running command that would do nothing.

    Args:
        reason: when they do something.
        names: of parameters that were left at their defaults if all is well.

    Raises:
        Refusal: naming the first one that was given.
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if parameter.name in names and is_given:
            raise Refusal(f"{parameter.opts[-1]} {reason}; leave it out")
