"""Operator mutants that nothing kills, judged: each by the exact text that it changes, and why that is right.

A judgement names a function, the expression as it is written and as it is changed. It says that the change makes no
difference to Kafka (`redundant`), or none that the scope can show (`scope`). An unjudged one is open.
"""

from __future__ import annotations

from kraftcheck.properties.mutants.judgement import Judgement

OPERATOR_JUDGEMENTS: tuple[Judgement, ...] = ()
"""The judgements."""
