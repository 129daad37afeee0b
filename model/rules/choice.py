"""The declaration of a choice of a rule set."""

from __future__ import annotations

from typing import Any

import attrs


def choice(group: str, source: str, text: str, default: bool = False) -> Any:
    """A choice of a rule set: a truth that is False for the right rule, or for the older feature level.

    Args:
        group: which kind of choice it is (`kraftcheck.model.rules.ruleset.RuleSet`).
        source: where the rule, or the defect, comes from.
        text: what is so when the choice is on.
    """
    return attrs.field(default=default, metadata={"group": group, "source": source, "text": text})
