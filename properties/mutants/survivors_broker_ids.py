"""Mutants of `broker-ids` that nothing kills, judged; part of `kraftcheck.properties.mutants.survivors`.

The table is of static ids, as KRaft has them: what only a search for ids reads carries nothing there.
"""

from __future__ import annotations

from kraftcheck.properties.mutants.judgement import REDUNDANT, SCOPE, Judgement, about

_FAULTS = "kraftcheck.model.systems.broker_ids.faults:Faults."
_NAME = "broker-ids"

BROKER_IDS_JUDGEMENTS: tuple[Judgement, ...] = (
    *about(
        REDUNDANT, _NAME, "a process that starts over is one that stopped and started",
        ("start", "machine is down", "dropped"),
    ),
    *about(
        REDUNDANT, _NAME, "configuration and disk give the same id, whenever they are read",
        ("decide", "process has started", "dropped"),
    ),
    *about(
        REDUNDANT, _NAME, "a session may expire as soon as the process is gone",
        (_FAULTS + "stop", "clean", "dropped"),
        (_FAULTS + "stop", "all_of(clean, held)", "always"),
    ),
    *about(
        REDUNDANT, _NAME, "a disk lost under a process shows at the next start, as one lost while it was down",
        ("lose_disk", "machine is down", "dropped"),
    ),
    *about(
        SCOPE, _NAME, "with static ids nothing reads the mapping of hostnames",
        ("record", "broker is live", "dropped"),
    ),
    *about(
        SCOPE, _NAME, "with static ids nobody else asks for an id whose session is gone",
        ("expire", "its process is gone", "dropped"),
    ),
    *about(
        SCOPE, _NAME, "with static ids nothing reads which ids are used or missing",
        ("kraftcheck.model.systems.broker_ids.state:BrokerIds.registered", "owner >= 0", "always"),
        ("create_topic", "id is registered", "dropped"),
    ),
    *about(
        SCOPE, _NAME, "with static ids nobody takes an id over, so that it does not matter where its data are",
        (_FAULTS + "lose_disk", "home == machine", "always"),
        (_FAULTS + "lose_disk", "home == machine", "never"),
    ),
)  # fmt: skip
"""The judgements."""
