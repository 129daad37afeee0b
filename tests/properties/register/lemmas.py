"""Which variant of the rules refutes each lemma, or why none can; from lemmas.toml, and the matrix of defects."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kraftcheck.model.register import RegisterError, content, spelled
from kraftcheck.properties.register.defects import SEEN

_TABLES = content(__package__, "lemmas.toml", "refuted", "frame")

OF_CONTROLLER = "lemma-controller-"
"""How the lemmas begin that are claims of `elections`, about the controller within a larger state."""


@frozen
class Refuter:
    """A variant that refutes a lemma."""

    # system, scope, bounds: where it does; bounds override the scope
    system: str
    variant: str  # switched on (or off, with a leading hyphen) beside the right rules; or two, with a plus between them
    scope: str
    bounds: Mapping[str, int]
    steps: int  # length of the shortest run to a state that breaks the lemma

    def place(self) -> str:
        """The scope with its bounds, as on the command line."""
        return self.scope + "".join(f" --{name} {value}" for name, value in self.bounds.items())


def _refuter(system: str, lemma: str, words: Any) -> Refuter:
    names, bounds = spelled(words, f"lemmas.toml: refuted.{system}.{lemma}")
    if len(names) != 3 or not names[2].isdigit():
        raise RegisterError(f"lemmas.toml: {lemma} has {words!r}; write a variant, a scope, steps and perhaps bounds")
    return Refuter(system, names[0], names[1], bounds, int(names[2]))


REFUTED: Mapping[tuple[str, str], Refuter] = {
    (system, lemma): _refuter(system, lemma, words)
    for system, rows in _TABLES["refuted"].items()
    for lemma, words in rows.items()
}
"""By system and lemma what refutes it there."""

UNREFUTED: Mapping[tuple[str, str], str] = {
    (system, lemma): f"frame: {reason}"
    for reason, rows in _TABLES["frame"].items()
    for system, _, lemma in (row.partition(" ") for row in rows)
}
"""Lemmas (system, lemma) that nothing refutes, since a frame lemma says what no variant can change: with the reason."""


def refuter(system: str, lemma: str) -> Refuter | None:
    """What refutes a lemma; one of the controller may be refuted in `elections`. None: nothing does."""
    if (system, lemma) in REFUTED or not lemma.startswith(OF_CONTROLLER):
        return REFUTED.get((system, lemma))
    name = lemma.removeprefix(OF_CONTROLLER)
    return REFUTED.get(("elections", f"lemma-{name}")) or _of_matrix(name)


def _of_matrix(claim: str) -> Refuter | None:
    """The shortest refutation of a property of `elections` in the matrix, without bounds where there is one."""
    rows = [row for key, rows in SEEN.items() if key[:2] == ("elections", claim) for row in rows if row.base == "fixed"]
    if not rows:
        return None
    row = min(rows, key=lambda row: (len(row.bounds), row.refutes[claim], row.variant))
    return Refuter(row.system, row.variant, row.scope, row.bounds, row.refutes[claim])


def reason(system: str, lemma: str) -> str | None:
    """Why no variant refutes a lemma; of one of the controller it may be said in `elections`."""
    own = UNREFUTED.get((system, lemma))
    return own or UNREFUTED.get(("elections", f"lemma-{lemma.removeprefix(OF_CONTROLLER)}"))
