"""The test of recovery, and the exit status; on words."""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.model.language.rule import rule
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.model.rules.groups import UncleanRecoveryRules


@rule("recovery.online-is-success", source="unclean-recovery KIP, exit status",
      switches=("recovery-online-is-failure",),
      says="A partition that is found online counts as recovered.")  # fmt: skip
def is_recovered(elected: Truth, online: Truth, unserved: Truth, rules: UncleanRecoveryRules) -> Truth:
    """Whether a partition counts as recovered.

    Args:
        elected: the tool's election succeeded.
        online: the controller, or the tool before it, found a leader.
        unserved: the response does not name it.
        rules: the rule set.

    Source: unclean-recovery KIP: "in this case the tool will report that it found a partition already online".
    """
    counted = [elected]
    counted += [] if rules.recovery_online_is_failure else [online]
    counted += [unserved] if rules.recovery_ignores_request_limit else []
    return any_of(*counted)


@rule("recovery.zero-only-for-all", source="unclean-recovery KIP, exit status",
      switches=("partial-recovery-succeeds", "interrupted-recovery-succeeds"),
      says="The exit status is zero exactly when every partition is recovered.")  # fmt: skip
def exits_zero(recovered: Sequence[Truth], interrupted: Truth, rules: UncleanRecoveryRules) -> Truth:
    """Whether the exit status is zero: exactly when every partition of the input set is recovered.

    Args:
        recovered: of each partition.
        interrupted: a signal ended the run.
        rules: the rule set.

    Source: unclean-recovery KIP, "A zero exit status will be reported only if ...".
    """
    enough = [all_of(*recovered)]
    enough += [any_of(*recovered)] if rules.partial_recovery_succeeds else []
    enough += [interrupted] if rules.interrupted_recovery_succeeds else []
    return any_of(*enough)
