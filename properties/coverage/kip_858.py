"""The statements of KIP-858 (system `directories`); an id ends with the lines of its text."""

from __future__ import annotations

from kraftcheck.properties.coverage.statement import Statement

_CATCHUP = "tests/model/systems/test_directories_catchup.py: "
_MOVES = "tests/model/systems/test_directories_moves.py: "
_SYSTEM = "tests/model/systems/test_directories_system.py: "
_CODECS = "tests/model/records/test_codecs.py: "
_NO_METADATA_DIRECTORY = (
    "A directory that has the metadata log alone is none of a broker's directories here: where it fails the process "
    "halts, which is a crash, and it has no replica that could be placed, moved or fenced for."
)
_ZOOKEEPER_MODE = (
    "The migration begins here when a broker has left ZooKeeper mode: before, its replicas follow LeaderAndIsr, which "
    "no system of KRaft has; "
)

_FORMATS: tuple[Statement, ...] = (
    Statement("KIP-858 12, 122-136", "The file meta.properties of each directory carries the directory's id.",
              rules=("startup.directory-ids-differ",), places=("model/systems/directories/host.py: Host",),
              reason="The file is the id of a slot; its other lines concern the broker id."),
    Statement("KIP-858 12, 160, 188", "A directory without id gets a random one when the broker starts.",
              rules=("directory-id.reserved-not-drawn",), properties=("directories ids-are-not-reserved",),
              variants=("reserved-ids-drawn",), places=(f"{_MOVES}test_a_new_disk_gets_a_new_id",)),
    Statement("KIP-858 12", "The tool that formats storage gives each directory its id.",
              reason="A formatted directory is one that has its id from the start, as all but one have here; the tool "
                     "runs before any broker does, and draws ids by the rule of the start."),
    Statement("KIP-858 14, 18", "A separate directory of the metadata log has no id in one draft, and one in another.",
              reason=_NO_METADATA_DIRECTORY),
    Statement("KIP-858 18", "A broker cannot run while the directory of its metadata log is unavailable.",
              rules=("metadata-directory.failure-stops-broker",), properties=("directories runs-with-its-metadata",),
              variants=("metadata-failure-survived",),
              places=(f"{_MOVES}test_the_directory_of_the_metadata_log_halts_the_broker",),
              reason="By default that directory is the first of `log.dirs`: the bound metadata-slot."),
    Statement("KIP-858 18, 228", "That directory holds no user partition, and fencing does not wait for it.",
              reason=_NO_METADATA_DIRECTORY),
    Statement("KIP-858 20-28", "The first hundred ids are never drawn.",
              rules=("directory-id.reserved-not-drawn",),
              properties=("directories ids-are-not-reserved",), variants=("reserved-ids-drawn",)),
    Statement("KIP-858 24-26", "Reserved ids stand for unassigned, lost and migrating; drafts number them differently.",
              rules=("directory.online-when-registered",), places=("model/records/directory_ids.py: DRAFT",
                                                                   f"{_CODECS}test_same_bytes_mean_different_directories")),
    Statement("KIP-858 32", "The records of registrations list a broker's directories.",
              rules=("registration.empty-directory-list-is-none-left",),
              properties=("elections failed-directories-unregistered",),
              variants=("empty-directory-list-means-no-change",),
              places=("tests/model/records/test_brokers.py: test_directories_are_replaced_in_order",)),
    Statement("KIP-858 36-47", "Partition records name each replica's directory, as a list or as pairs.",
              rules=("directory.kept-until-assigned",),
              places=(f"{_CODECS}test_round_trip_of_kip_form", f"{_CODECS}test_struct_form")),
    Statement("KIP-858 49-53", "A directory that a record does not name is the id zero.",
              places=(f"{_CODECS}test_struct_without_directory_is_the_number_zero",)),
    Statement("KIP-858 55", "An unassigned replica is placed by its broker, which reports the place.",
              rules=("catchup.one-table", "catchup.added-replica-reports"),
              properties=("directories assignment-settles",),
              variants=("catch-up-as-coded+added-replica-unreported",)),
    Statement("KIP-858 59-83", "AssignReplicasToDirs names broker, broker epoch and replicas by directory.",
              rules=("assignment.of-current-incarnation",),
              properties=("directories incarnations-do-not-mix",), variants=("assignment-ignores-broker-epoch",),
              places=("model/controller/assign_dirs.py: Assignment",),
              reason="The nesting of the request is left out."),
    Statement("KIP-858 74-75", "In a draft the request names topics instead of their ids.",
              reason="A partition is a number here, so that name and id are the same; topic ids matter where a topic "
                     "is deleted and made again, which the controller on ints has."),
    Statement("KIP-858 93-104", "The answer has an error for the request and one for each partition.",
              rules=("assignment.own-replicas-only", "broker-epoch.current"),
              places=("model/controller/assign_dirs.py: AssignmentResult",)),
    Statement("KIP-858 91", "The answer tells how long the broker was throttled.",
              reason="Quotas delay answers and change none; any answer may be late here."),
    Statement("KIP-858 111", "An assignment to LOST says that the replica is in a failed directory, not which.",
              rules=("move.failed-source-is-lost", "assignment.offline-directory-leads-away"),
              properties=("directories failure-leads-away",),
              variants=("lost-source-unreported", "offline-assignment-ignored")),
    Statement("KIP-858 113", "The request takes the right to act for the cluster.",
              rules=("assignment.authorized",), properties=("directories assigned-by-its-broker",),
              variants=("assignment-unauthorized",)),
    Statement("KIP-858 120-122", "A metric counts replicas whose assignment is missing or waits.",
              places=("model/systems/directories/host.py: queued", "model/systems/directories/host.py: settled"),
              reason="Whether the number is zero is modelled, and what goes by it; the number is not, nor that anybody "
                     "reads it."),
)  # fmt: skip
"""Ids, records and requests."""

_LIFE: tuple[Statement, ...] = (
    Statement("KIP-858 134, 145, 159, 187", "A broker with two directories of one id does not start.",
              rules=("startup.directory-ids-differ",), properties=("directories duplicate-ids-never-start",),
              variants=("duplicate-ids-start",)),
    Statement("KIP-858 162, 190", "A broker registers with the ids of all directories it has loaded.",
              rules=("registration.again-once-directories-are-known",),
              properties=("directories readable-log-leads",), variants=("registration-without-directories",)),
    Statement("KIP-858 166-169, 194-197",
              "A replica is offline whose directory is not registered, if it is LOST or several are registered.",
              rules=("directory.last-one-hides-none",),
              properties=("directories leader-directory-online",), variants=("one-directory-means-all-online",)),
    Statement("KIP-858 166", "By the letter an unassigned replica is offline where several directories are registered.",
              rules=("directory.unknown-is-online",), properties=("directories broker-can-return",),
              variants=("unknown-directory-is-offline",),
              reason="`kip` is the letter. Every release and the mended rules take such a replica for online, for a "
                     "new partition has nothing else."),
    Statement("KIP-858 164-166", "Brokers tell clients in metadata which replicas are offline.",
              reason="Clients are not modelled, and no broker decides anything by that list; the rule by which a "
                     "replica counts as offline is the controller's, directory.online-when-registered."),
    Statement("KIP-858 171, 199, 226, 248", "A broker with one directory assigns nothing but what is LOST.",
              rules=("assignment.single-directory-is-silent",), properties=("directories broker-can-return",),
              variants=("single-directory-silent",)),
    Statement("KIP-858 175, 203", "A broker shuts down once none of its directories works.",
              places=(f"{_MOVES}test_the_last_directory_halts_the_broker",)),
    Statement("KIP-858 175-177", "Every heartbeat lists all directories that failed since the start.",
              rules=("directory-failure.in-every-heartbeat", "directory-failure.in-flight-is-not-reported"),
              properties=("directories failure-leads-away", "directories told-is-told"),
              variants=("failure-reported-once", "reported-while-in-flight")),
    Statement("KIP-858 203", "In the first draft a failure is reported until a heartbeat is acknowledged.",
              rules=("directory-failure.in-every-heartbeat",), properties=("directories failure-leads-away",),
              variants=("reported-until-acknowledged",)),
    Statement("KIP-858 205", "In the first draft assignments are sent before the failure that they concern.",
              rules=("directory-failure.reported-without-waiting",),
              reason="Both orders keep every property: requests arrive in any order as it is."),
    Statement("KIP-858 207", "A broker that leads in a failed directory and cannot report it in time shuts down.",
              rules=("directory-failure.unreported-stops-broker",),
              places=(f"{_MOVES}test_the_timeout_stops_a_broker_that_cannot_report",),
              reason="That only a broker that leads there stops keeps every property of the mended rules."),
    Statement("KIP-858 179", "The last draft stops it for an assignment into a failed directory as well.",
              rules=("assignment.into-failed-directory-stops-broker",),
              properties=("directories untold-failure-stops-broker",), variants=("assignments-never-time-out",)),
)  # fmt: skip
"""Starts, failures and what counts as offline."""

_PLACES: tuple[Statement, ...] = (
    Statement("KIP-858 213-214", "An unassigned replica whose log exists is reported where it is.",
              rules=("catchup.log-elsewhere-is-reported",), properties=("directories assignment-settles",),
              variants=("unassigned-log-unreported",)),
    Statement("KIP-858 215", "An unassigned replica without log is made in a directory of the broker's choice.",
              rules=("catchup.no-empty-log-for-a-hidden-one",), properties=("directories no-copy-is-filled-over",),
              variants=("unassigned-fills-while-offline",)),
    Statement("KIP-858 217", "A replica without log is made in its assigned directory.",
              rules=("catchup.no-empty-log-for-a-hidden-one",), properties=("directories no-copy-is-filled-over",),
              variants=("assigned-fills-while-offline",)),
    Statement("KIP-858 218", "A replica that is where it is assigned is left alone.",
              rules=("catchup.one-table",), places=(f"{_CATCHUP}test_rows_that_kip_code_and_mended_rules_share",)),
    Statement("KIP-858 219", "A move away from the assigned directory goes on.",
              rules=("move.metadata-keeps-its-state",),
              places=(f"{_CATCHUP}test_a_future_log_in_the_assigned_directory",),
              reason="`epoch-change-forgets-promotion` is another matter: it forgets a move whose target is assigned."),
    Statement("KIP-858 220", "A future log in the assigned directory replaces the log once it is level.",
              rules=("startup.future-log-replaces-only-when-level", "move.promoted-when-level"),
              properties=("directories moves-keep-the-copy",),
              variants=("startup-swap-ignores-offsets", "promotion-ignores-offsets")),
    Statement("KIP-858 221", "A replica in another directory that works is reported where it is.",
              rules=("catchup.log-elsewhere-is-reported", "assignment.not-corrected-during-a-move"),
              properties=("directories assignment-settles", "directories moves-go-forward"),
              variants=("misplaced-log-unreported", "correction-ignores-future-log"),
              reason="By the row before it, not while a move into the assigned directory goes on."),
    Statement("KIP-858 222-223", "Nothing is done for an unknown directory while some directory is offline.",
              rules=("catchup.no-empty-log-for-a-hidden-one", "catchup.readable-log-is-opened"),
              properties=("directories no-copy-is-filled-over", "directories readable-log-leads"),
              variants=("failure-recreates-log", "unknown-directory-hides-log")),
    Statement("KIP-858 224", "With every directory online the broker chooses one, and reports it.",
              rules=("catchup.no-directory-offline-makes-a-log",), properties=("directories replica-can-be-served",),
              variants=("unknown-directory-stays-empty",)),
    Statement("KIP-858 228, 255", "A broker with several directories asks for no unfencing before all is settled.",
              rules=("unfence.assignments-settled", "unfence.every-partition-settled"),
              properties=("directories fenced-until-settled", "kraft second-fenced-until-settled"),
              variants=("unfence-ignores-assignments", "unfence-awaits-one-partition")),
    Statement("KIP-858 232-235", "A move is assigned before it is promoted, and copying goes on meanwhile.",
              rules=("move.promoted-when-accepted",), properties=("directories assignment-settles",),
              variants=("promotion-unacknowledged",)),
    Statement("KIP-858 244", "Where the target of a move fails its assignment is taken back.",
              rules=("move.failed-target-takes-assignment-back",),
              properties=("directories assignment-can-settle",), variants=("revert-only-while-queued",)),
    Statement("KIP-858 244b", "Where the source of a move fails the replica is reported LOST.",
              rules=("move.failed-source-is-lost",), properties=("directories failure-leads-away",),
              variants=("lost-source-unreported",)),
)  # fmt: skip
"""The table of a broker that catches up, fencing and moves."""

_CONTROLLER: tuple[Statement, ...] = (
    Statement("KIP-858 248", "New replicas begin unassigned.",
              rules=("directory.default-for-new-replica",),
              reason="The code names the directory where a broker has only one; no property asks where one begins."),
    Statement("KIP-858 252", "A registration without an online directory is answered INVALID_REQUEST.",
              rules=("registration.directories-own-and-unreserved",),
              places=("tests/model/controller/test_controller_errors.py: "
                      "test_the_document_answers_no_directory_as_a_malformed_request",),
              reason="`kip` answers so (`no-directories-is-invalid-request`). Every release answers "
                     "INVALID_REGISTRATION, as for each other fault of the list, and so do the mended rules."),
    Statement("KIP-858 253", "A broker that registers several directories is fenced while one of its replicas is "
              "unassigned.",
              rules=("unfence.directories-known",), properties=("directories fenced-until-settled",),
              variants=("unfence-ignores-assignments",),
              places=(f"{_SYSTEM}test_the_kip_unfences_a_broker_that_has_one_directory_left",)),
    Statement("KIP-858 253, 271", "The controller in full asks the same of every partition.",
              rules=("unfence.directories-known",), properties=("elections unfenced-where-known",),
              variants=("unfence-ignores-assignments",),
              places=("tests/model/controller/test_controller_lifecycle.py: "
                      "test_a_broker_is_fenced_until_its_directories_are_known",)),
    Statement("KIP-858 256", "A directory that is new in a registration is taken for empty, and corrected.",
              rules=("catchup.one-table",), places=("model/systems/directories/process.py: replace",),
              reason="It takes a disk that is replaced, which is in no shipped scope but in bounds."),
    Statement("KIP-858 260", "A quorum of controllers is set up before any broker is upgraded.",
              reason="A controller that knows the records is there from the start of every scope; how the quorum "
                     "comes to be concerns no directory."),
    Statement("KIP-858 261-264", "In ZooKeeper mode a broker draws ids, registers with them, and stops if one "
              "directory fails.",
              places=(f"{_SYSTEM}test_the_kip_unfences_a_broker_that_has_one_directory_left",),
              reason=_ZOOKEEPER_MODE + "a broker that stopped for a failed directory is one whose disk fails before "
                     "its first start, which scope migration explores, one directory without id included."),
    Statement("KIP-858 265, 268", "In ZooKeeper mode failures come by heartbeat, not by a znode.",
              reason=_ZOOKEEPER_MODE + "the broker stops at any failure, and the controller sees its session end."),
    Statement("KIP-858 267, 269", "The controller keeps directories of brokers in ZooKeeper mode, and still tells them "
              "by LeaderAndIsr.",
              reason=_ZOOKEEPER_MODE + "LeaderAndIsr is in the systems zk-controller and zk-jbod."),
    Statement("KIP-858 270", "A broker that restarts out of ZooKeeper mode stays fenced until all is settled.",
              rules=("unfence.assignments-settled",), properties=("directories fenced-until-settled",),
              variants=("unfence-ignores-assignments",), within="migration"),
    Statement("KIP-858 271", "During the migration the controller keeps any broker fenced until it knows all.",
              rules=("unfence.directories-known",), properties=("elections unfenced-where-known",),
              variants=("unfence-ignores-assignments",),
              places=(f"{_SYSTEM}test_the_kip_fences_a_migrating_broker_for_ever",),
              reason="Replicas are assigned to MIGRATING there. In scope migration a broker does not ask before it is "
                     "settled, so that the controller never has to refuse; that a broker with one directory left is "
                     "refused as well shows in scope upgrade alone (`one-directory-awaits-nothing`)."),
    Statement("KIP-858 272", "Replicas that exist before the migration begin as migrating.",
              places=("model/systems/directories/state.py: MIGRATION",)),
)  # fmt: skip
"""What the controller does, and the migration."""

KIP_858: tuple[Statement, ...] = (*_FORMATS, *_LIFE, *_PLACES, *_CONTROLLER)
"""In the order of the audit."""
