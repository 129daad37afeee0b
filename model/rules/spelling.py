"""The spelling of a rule set: `PRESET[+NAME|-NAME...]`."""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen

from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.nearest import nearest


@frozen
class Spelling:
    """A rule set as it is spelt."""

    preset: str  # the name that it starts from
    switches: tuple[tuple[str, bool], ...]  # variants in order, each with whether it is switched on

    def text(self) -> str:
        """The words again.

        >>> Spelling("fixed", (("fetch-unfenced", True),)).text()
        'fixed+fetch-unfenced'
        """
        return self.preset + "".join(f"{'+' if on else '-'}{name}" for name, on in self.switches)


def spelt(text: str, presets: Collection[str], variants: Collection[str]) -> Spelling:
    """The parts of a rule set's name.

    Hyphens belong to names, so a switch starts at a `+`, or at a `-` that
    follows a known name and precedes another.

    Raises:
        ScopeError: naming the unknown part and the nearest names.
    """
    preset = _longest(text, presets)
    if preset is None:
        head = text.split("+")[0]
        raise ScopeError(f"unknown rule set {head!r}; {nearest(head, presets, 'kraftcheck list')}")
    switches, rest = [], text[len(preset) :]
    while rest:
        sign, rest = rest[0], rest[1:]
        name = _longest(rest, variants)
        if name is None:
            odd = rest.split("+")[0]
            near = nearest(odd, variants, "kraftcheck list --variants")
            raise ScopeError(f"unknown variant {odd!r} in {text!r}; {near}")
        switches.append((name, sign == "+"))
        rest = rest[len(name) :]
    return Spelling(preset, tuple(switches))


def _longest(text: str, names: Collection[str]) -> str | None:
    """The longest name that the text starts with, up to its end or a switch."""
    fitting = [n for n in names if text.startswith(n) and text[len(n) : len(n) + 1] in ("", "+", "-")]
    return max(fitting, key=len, default=None)
