"""Refuses liveness properties where an engine does not judge them: they are never passed over."""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.fairness import LIVENESS


def refuse_liveness(chosen: Subject, engine: str, only: Sequence[str] = (), mend: str = "") -> None:
    """Refuse a subject that is to be judged on fair behaviours by an engine that knows none.

    Args:
        chosen: what is asked for.
        engine: what it is asked of, as the message has it.
        only: ids of the properties asked for; empty: all.
        mend: what to do besides exploring it.

    Raises:
        Refusal: naming the properties.
    """
    live = [c.id for c in chosen.system.properties(chosen.setting) if c.kind in LIVENESS and (not only or c.id in only)]
    if live:
        names = ", ".join(live)
        raise Refusal(f"{chosen.name}: {engine} no liveness ({names}); `kraftcheck explore` does{mend}")
