"""Whether a build's classes fit each other: Kafka answers an error of the virtual machine as any other."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Set
from pathlib import Path

from kraftcheck.ci.conformance.kafka.jars import SHORT_RUN, program
from kraftcheck.ci.terminal.refusal import Refusal

TOOL = Path(__file__).with_name("Links.java")

MISFIT = re.compile(
    r"(NoClassDefFound|NoSuchMethod|NoSuchField|AbstractMethod|IncompatibleClassChange|IllegalAccess|Verify)Error[^|]*"
)
"""What a virtual machine says of a class that was compiled beside others, or is none."""

_TYPE = re.compile(r"(\[*)(?:L([^;]+);|([BCDFIJSZV]))")  # in a descriptor
_PRIMITIVE = {"B": "byte", "C": "char", "D": "double", "F": "float", "I": "int", "J": "long", "S": "short",
              "Z": "boolean", "V": "void"}  # fmt: skip


def misfit_refusal(build: object, reason: str) -> Refusal:
    """The refusal of a build whose classes do not fit each other, which says nothing of what they decide."""
    return Refusal(f"classes of Kafka {build} do not fit each other: {reason}; build all its modules from one commit, "
                   "or name the release that completes it with --like")  # fmt: skip


@functools.cache
def misfits(build: str, release: str, changed: Set[str]) -> tuple[str, ...]:
    """What changed classes lack, or others lack of them, and the release does not; raises Refusal for no class."""
    command = [program("java"), *SHORT_RUN, str(TOOL), build, release]
    text = "".join(f"{name}\n" for name in sorted(changed))
    told = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if told.returncode:
        reason = next((line for line in told.stderr.splitlines() if "Exception" in line), "it says no reason")
        raise Refusal(f"whether the changed classes fit each other cannot be told: {reason}")
    found = dict[str, str]()
    for line in told.stdout.splitlines():
        error, of, needs = line.split("\t")
        found.setdefault(f"{error}: {_member(of)}", needs)
    return tuple(sorted(f"{of}, which {by.rpartition('.')[2]} needs" for of, by in found.items()))


def _member(text: str) -> str:
    """A class, or a member with its types as Java spells them: `Owner.name(int) of List`."""
    name, bracket, rest = text.partition("(")
    if not bracket or name.endswith(" "):
        return text
    words, _, returned = rest.partition(")")
    return f"{name}({', '.join(_types(words))}){'' if returned == 'V' else f' of {_types(returned)[0]}'}"


def _types(descriptor: str) -> list[str]:
    return [f"{_PRIMITIVE.get(kind) or re.split('[/$]', owner)[-1]}{'[]' * len(arrays)}"
            for arrays, owner, kind in _TYPE.findall(descriptor)]  # fmt: skip
