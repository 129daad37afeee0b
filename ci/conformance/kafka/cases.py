"""What the released classes of a broker do with directories, moves, proposals and late replies, case by case.

python -m kraftcheck.ci.conformance.kafka.cases broker|fetcher VERSION...
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import BROKER, BROKERS_PACKAGE, FETCHER, DriverError, compile_driver
from kraftcheck.ci.conformance.kafka.jars import SERVER, SHORT_RUN, program
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.register import content

OF_HEARTBEATS = "BrokerLifecycleManager"  # the class that reports directories by heartbeats
TIMEOUT = 120  # seconds that a driver may take
RELEASES = ("4.4.0",)  # the releases whose classes have the constructors that the driver of a broker calls
OLDER = ("4.0.2", "4.1.2", "4.2.2", "4.3.1")  # those that are asked about heartbeats alone


@frozen
class Case:
    """A question to a class."""

    entry: str  # of the catalogue or the semantics; empty where the class does what is right
    asked: str  # the class that answers
    says: str  # what the class does where the answer is yes


CASES = {name: Case(**row) for name, row in content(__package__, "broker/cases.toml").items()}
"""The cases of a broker by name, in the order of the driver."""

LATE_REPLIES = {
    "same-epoch": "of the current leader epoch, at the log end",
    "later-epoch": "of an earlier leader epoch than the current, at the log end",
    "later-epoch-other-offset": "of an earlier leader epoch, the log having been cut since",
}
"""The cases of a follower's fetcher: the reply that it is given."""


def broker_answers(version: str) -> dict[str, bool]:
    """For each of `CASES` what the class of a release does; raises Refusal without it, DriverError for other ones."""
    if version not in (*RELEASES, *OLDER):
        raise Refusal(f"the broker of Kafka {version} cannot be asked; one of {', '.join((*OLDER, *RELEASES))} can")
    asked = {name: case for name, case in CASES.items() if version in RELEASES or case.asked == OF_HEARTBEATS}
    answers = _answers(version, BROKER, BROKERS_PACKAGE, asked)
    if not {"true", "false"}.issuperset(answers.values()):
        raise DriverError(f"the broker of {version} answered {answers}")
    return {case: answer == "true" for case, answer in answers.items()}


def late_replies(version: str) -> dict[str, bool]:
    """For each of `LATE_REPLIES` whether a release's fetcher, from 4.0.0 on, appends it; raises as `broker_answers`."""
    return {case: int(count) > 0 for case, count in _answers(version, FETCHER, "kafka.server", LATE_REPLIES).items()}


def _answers(version: str, driver: str, package: str, cases: Mapping[str, object]) -> dict[str, str]:
    class_path = compile_driver(Build(version), driver, SERVER)
    command = [program("java"), *SHORT_RUN, "-cp", class_path, f"{package}.{driver}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT)
    answers = dict(line.split(" ") for line in done.stdout.splitlines() if line.partition(" ")[0] in cases)
    if done.returncode or answers.keys() != cases.keys():
        raise DriverError(f"the {driver} of {version} did not answer: {done.stderr.strip()[-300:]}")
    return answers


def _broker_lines(version: str) -> Iterator[str]:
    for name, answer in broker_answers(version).items():
        case = CASES[name]
        yield f"{case.entry or '-':13}{'yes' if answer else 'no':4}{case.asked}: {case.says}"


def _fetcher_lines(version: str) -> Iterator[str]:
    for case, appends in late_replies(version).items():
        yield f"a reply {LATE_REPLIES[case]}: {'appended' if appends else 'not appended'}"


SUBJECTS: Mapping[str, Callable[[str], Iterator[str]]] = {"broker": _broker_lines, "fetcher": _fetcher_lines}
"""What can be asked, and the lines of its answers for a release."""


def main(words: Sequence[str]) -> int:
    """Print a line for each answer of each release; the exit code is 2 for what cannot be asked."""
    try:
        if len(words) < 2 or words[0] not in SUBJECTS:
            raise Refusal(f"name what is asked, one of {', '.join(SUBJECTS)}, and releases, as in broker 4.4.0")
        for version in words[1:]:
            for line in SUBJECTS[words[0]](version):
                print(f"{version}  {line}")
    except (Refusal, DriverError) as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
