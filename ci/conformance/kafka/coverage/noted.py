"""The lines of a build's changed classes that its processes have run.

A question that loads a class says nothing of a line of it that has not run. So each changed line is looked for
in what JaCoCo's agent has noted, and a build of which one is missing has not been asked for what it changes.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.conformance.kafka.jars import COVERAGE, SHORT_RUN, any_jars, program
from kraftcheck.ci.terminal.refusal import Refusal

_TOOL = Path(__file__).with_name("Unrun.java")
_PART = "?"  # how a line ends of which a part has run
_DIFFERS = "="  # in the place of a method: some code of the class differs
_MOST = 200  # classes that are named to the agent; of more it notes every class of Kafka's


@frozen
class UnrunMethod:
    """A changed method of which some changed line has not run; or what no line shows, see Unrun.java."""

    owner: str  # the name of its class
    name: str  # empty for a class that the release alone has
    # changed ones that have not run, 0 where they have no number; negative for those that are gone, and have not run in
    # the release; none where the class is gone
    lines: tuple[int, ...]
    in_part: tuple[int, ...] = ()  # those of them of which a part has run, or which went one way only

    @classmethod
    def of(cls, owner: str, name: str, lines: str) -> UnrunMethod:
        """As a row of Unrun.java tells."""
        words = [word for word in lines.split(",") if word]
        part = tuple(int(word[:-1]) for word in words if word.endswith(_PART))
        return cls(owner, name, tuple(int(word.rstrip(_PART)) for word in words), part)

    @property
    def is_gone(self) -> bool:
        """Whether the release alone has what has not run."""
        return max(self.lines, default=-1) < 0

    def __str__(self) -> str:
        """As a reader looks for it."""
        shown = [f"{abs(line)}{' in part' * (line in self.in_part)}" for line in self.lines if line]
        simple = ".".join(filter(None, (self.owner.rpartition(".")[2], self.name)))
        if self.is_gone:
            return f"{simple} ({' '.join(['gone', *shown])})"
        return f"{simple} (line{'s' * (len(shown) > 1)} {', '.join(shown)})" if shown else simple


@frozen
class Noted:
    """The notes of the processes of a build."""

    folder: Path  # where they are
    classes: tuple[str, ...]  # the names of the changed classes

    @classmethod
    def of(cls, folder: Path, classes: Iterable[str]) -> Noted:
        """No notes yet; raises Refusal for a folder whose name the agent cannot be told."""
        if odd := set(f",={os.pathsep}") & set(str(folder)):
            raise Refusal(f"{folder.parent} has {min(odd)!r} in its name; set TMPDIR to another folder")
        return cls(folder, tuple(sorted(classes)))

    @property
    def _ran(self) -> Path:
        return self.folder / "ran.exec"

    def options(self) -> list[str]:
        """The options of a virtual machine that takes notes; none where nothing has changed."""
        if not self.classes:
            return []
        (agent,) = (path for path in _jars() if "agent" in path)
        names = ":".join(self.classes) if len(self.classes) <= _MOST else "org.apache.kafka.*"
        return [f"-javaagent:{agent}=destfile={self._ran},append=true,includes={names}"]

    def unrun(self, build: str, release: str) -> tuple[UnrunMethod, ...]:
        """The changed methods not run in all of their changed lines; raises Refusal where JaCoCo cannot read."""
        rows = [row for row in self._rows(build, release) if row[1] != _DIFFERS]
        return tuple(UnrunMethod.of(*row) for row in rows)

    def differing(self, build: str, release: str) -> list[str]:
        """The changed classes that do another thing, and not only lie otherwise in their files; raises as `unrun`."""
        return sorted({row[0] for row in self._rows(build, release)})

    def _rows(self, build: str, release: str) -> list[tuple[str, ...]]:
        if not self.classes:
            return []
        path = os.pathsep.join(one for one in _jars() if "agent" not in one)
        command = [program("java"), *SHORT_RUN, "-cp", path, str(_TOOL), str(self._ran), build, release]
        text = "".join(f"{name}\n" for name in self.classes)
        told = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if told.returncode:
            reason = next((line for line in told.stderr.splitlines() if "Exception" in line), "it says no reason")
            if cut := re.search(r"Error while analyzing (\S+)", reason):
                raise Refusal(f"{cut[1].replace('/', '.')} cannot be read, as a class file that is cut off or of a "
                              "Java that is too new; build it anew")  # fmt: skip
            raise Refusal(f"what has run of the changed classes cannot be told: {reason}")
        return [*dict.fromkeys(tuple(line.split("\t")) for line in told.stdout.splitlines())]


def _jars() -> list[str]:
    return any_jars("", COVERAGE).split(os.pathsep)
