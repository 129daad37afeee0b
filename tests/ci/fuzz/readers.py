"""Every reader of what others wrote, but for datasets, which have their own folder: what is drawn, how it may end."""

from tests.ci.fuzz import logs, others
from tests.ci.fuzz.bounds import Reader

_LOG = frozenset({0, 2, 10, 12, 14, 20, 23})
_VERDICTS = frozenset({0, 2, 11, 12, 13, 20, 21, 22})

READERS = (
    Reader("segments", _LOG, logs.segments),
    Reader("dumps", _LOG, logs.dumps),
    Reader("lines", _LOG, logs.lines),
    Reader("traces", frozenset({0, 2}), others.traces),
    Reader("tables", _VERDICTS, others.tables),
    Reader("expressions", _VERDICTS, others.expressions),
    Reader("mutants", frozenset({0, 2, 20}), others.mutants),
)
"""The codes are those that the commands document; 24, where two engines disagree, is no answer to any input."""
