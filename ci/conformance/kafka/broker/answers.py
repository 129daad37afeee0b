"""What the released classes of a broker do with failed directories and moving replicas, case by case."""

from __future__ import annotations

import subprocess

from attrs import frozen

from kraftcheck.ci.conformance.kafka.jars import BROKER, SERVER, SHORT_RUN, DriverError, compile_driver, program
from kraftcheck.ci.terminal.refusal import Refusal

TIMEOUT = 120
"""Seconds that the driver may take."""

RELEASES = ("4.4.0",)
"""The releases whose classes have the constructors that the driver calls."""


@frozen
class Case:
    """A question to a class.

    Attributes:
        entry: of the catalogue or the semantics; empty where the class does what is right.
        asked: the class that answers.
        says: what the class does where the answer is yes.
    """

    entry: str
    asked: str
    says: str


CASES = {
    "unreported-failure-stops-broker": Case(
        "", "BrokerLifecycleManager", "a broker stops when nobody answers the report of a failed directory in time"),
    "failure-in-flight-counts-as-reported": Case(
        "B16", "BrokerLifecycleManager", "the answer to a heartbeat that was sent before the failure counts as one"),
    "second-failure-restarts-timer": Case(
        "B16", "BrokerLifecycleManager", "a second failure puts off the deadline of the first"),
    "success-runs-callback": Case(
        "", "AssignmentsManager", "a granted assignment runs its callback"),
    "replaced-assignment-loses-callback": Case(
        "B13", "AssignmentsManager", "an assignment that is replaced before it is sent never runs its callback"),
    "move-is-granted-while-correction-waits": Case(
        "B13", "AssignmentsManager", "a move hears that it is granted while its correction waits to be sent"),
    "failed-target-is-taken-back": Case(
        "", "ReplicaAlterLogDirsThread", "a granted move is assigned back when its target fails"),
    "metadata-forgets-granted-move": Case(
        "X4", "ReplicaAlterLogDirsThread", "after new metadata it is not"),
    "grant-outlives-metadata": Case(
        "B13", "ReplicaAlterLogDirsThread", "a grant that was asked for before new metadata swaps the logs after it"),
    "start-takes-shorter-future-log": Case(
        "B14", "LogManager", "at start an empty future log in the assigned directory replaces a log of three records"),
    "correction-ignores-future-log": Case(
        "X5", "ReplicaManager", "an assignment is corrected back although a future log waits in that directory"),
    "unknown-directory-hides-log": Case(
        "B15", "Partition", "a leader whose assigned directory is not online throws beside its log, if another failed"),
    "equal-epoch-ends-proposal": Case(
        "B18", "Partition", "metadata of a known partition epoch ends the leader's proposal"),
    "answer-to-ended-proposal-is-ignored": Case(
        "", "Partition", "the answer to a proposal that metadata has ended changes nothing"),
    "answer-commits-proposal": Case(
        "", "Partition", "an answer without an error, of the same or a later partition epoch, commits the proposal"),
    "answer-of-other-epoch-is-ignored": Case(
        "", "Partition", "one of another leader epoch or an earlier partition epoch leaves the proposal pending"),
    "refusal-reverts-proposal": Case(
        "", "Partition", "INELIGIBLE_REPLICA and OPERATION_NOT_ATTEMPTED take the proposal back"),
    "error-leaves-proposal-to-metadata": Case(
        "", "Partition", "errors 3, 100, 74, 95, 42 and 108 leave it pending, and it is not sent again"),
    "other-error-resends-proposal": Case(
        "", "Partition", "after another error it is sent again"),
    "contradiction-repeats": Case(
        "X5", "several", "a move is asked for, granted, forgotten and corrected, five times over, and is where it was"),
    "contradiction-repeats-unanswered": Case(
        "X5", "several", "so it is where the answer to each request is lost"),
    "turn-before-metadata-ends-move": Case(
        "", "several", "the move ends where its thread has a turn between the answer and the metadata"),
    "turn-before-correction-ends-move": Case(
        "", "several", "so it does where the thread has one between the metadata and the correction"),
}  # fmt: skip
"""The cases by name, in the order of the driver."""


def broker_answers(version: str) -> dict[str, bool]:
    """For each case whether the class of a release does what the case says.

    Args:
        version: one of `RELEASES`.

    Raises:
        Refusal: for another release, or where jars, Java, Maven or the network are missing.
        DriverError: when the driver answers otherwise than with all cases.
    """
    if version not in RELEASES:
        raise Refusal(f"the broker of Kafka {version} cannot be asked; one of {', '.join(RELEASES)} can")
    class_path = compile_driver(version, BROKER, SERVER)
    command = [program("java"), *SHORT_RUN, "-cp", class_path, "org.apache.kafka.server.BrokerDriver"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    answers = dict(line.split(" ") for line in done.stdout.splitlines() if line.partition(" ")[0] in CASES)
    if done.returncode or answers.keys() != CASES.keys() or not {"true", "false"}.issuperset(answers.values()):
        raise DriverError(f"the broker of {version} did not answer: {done.stderr.strip()[-300:]}")
    return {case: answer == "true" for case, answer in answers.items()}
