"""How traces of `kraft` are drawn: data plane, directories and controller together."""

from __future__ import annotations

from kraftcheck.model.language.system import Legend, sent
from kraftcheck.model.systems.directories.legend import DIRECTORY_ARROWS
from kraftcheck.model.systems.elections.legend import BROKER, CONTROLLER, OPERATOR, STRIP, lanes
from kraftcheck.model.systems.replication.legend import REPLICATION_ARROWS

_ABSENT = (
    "reassign", "repair", "replace_disk", "copy_meta_properties", "register_again", "apply_equal_metadata", "shut_down",
    "stop",
)  # fmt: skip
"""What only the parts have when they are explored by themselves."""

_OF_PARTS = {**DIRECTORY_ARROWS, **REPLICATION_ARROWS}

LEGEND = Legend(
    lanes,
    {
        **{name: arrows for name, arrows in _OF_PARTS.items() if name not in _ABSENT},
        "apply_directories": sent(CONTROLLER, BROKER, "metadata records"),
        "elect_second_preferred": sent(OPERATOR, CONTROLLER, "ElectLeaders PREFERRED"),
        "expand_second_isr": sent(BROKER, CONTROLLER, "AlterPartition"),
        "delete_second": sent(OPERATOR, CONTROLLER, "DeleteTopics"),
    },
    {
        **{label: f"data.controller.{path}" for label, path in STRIP.items()},
        "leader epoch": "data.leader_epoch",
        "committed": "data.committed",
    },
)
