"""What random systems leave out because it is known to be wrong: one switch each, to be dropped with its mend."""

from __future__ import annotations

LISTS_HOLD_EVERY_BROKER = True
"""Lists of replicas have a slot for each broker: `Replicas.plus` and `.ascending` drop what has no slot."""

NO_EMPTY_RANGES = True
"""Every parameter has a value: an action with an empty range is refused, instead of never being enabled."""

AFTER_IS_ONLY_COMPARED = True
"""Words after a step are compared, not computed with: they have the interval of the effect, not of their field."""
