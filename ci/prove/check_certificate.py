#!/usr/bin/env python3
"""Make the obligations of the system that system.vmt defines, and ask a solver about each; nothing else is needed.

python3 check.py                  asks cvc5: its command, or else its Python package
python3 check.py z3 -smt2         asks another solver: a command, to which the name of a file is added
python3 check.py --proofs FOLDER  asks cvc5's Python package, and writes each of its proofs there
"""

import dataclasses
import hashlib
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing
from collections.abc import Callable, Iterable, Iterator

TOKEN = re.compile(r';[^\n]*|\s+|(\|[^|\\]*\||"[^"]*"|[()]|[^\s()|";]+)')
SIMPLE = re.compile(r"[\w~!@$%^&*+=<>.?/:#-]+")
PARTS = ("argument", "guard", "bound", "next")
Tree = str | list["Tree"]


class NoCertificate(ValueError):
    """A text that is not what this program checks."""


def parsed(text: str) -> list[Tree]:
    """The commands of a text."""
    stack: list[list[Tree]] = [[]]
    place = 0
    while place < len(text):
        if (token := TOKEN.match(text, place)) is None:
            raise NoCertificate(f"system.vmt: {text[place : place + 20]!r} is not closed")
        place = token.end()
        if token[1] == "(":
            stack.append([])
        elif token[1] == ")" and len(stack) > 1:
            stack[-2].append(stack.pop())
        elif token[1] is not None:
            stack[-1].append(token[1].strip("|"))
    if len(stack) != 1:
        raise NoCertificate("system.vmt: a bracket is not closed")
    return stack[0]


def printed(tree: Tree, names: dict[str, str]) -> str:
    """A term as text, with other names for some symbols."""
    if isinstance(tree, list):
        return f"({' '.join(printed(part, names) for part in tree)})"
    name = names.get(tree, tree)
    return name if SIMPLE.fullmatch(name) else f"|{name}|"


def symbols(tree: Tree) -> Iterator[str]:
    """The symbols of a term."""
    if isinstance(tree, str):
        yield tree
    else:
        yield from itertools.chain.from_iterable(map(symbols, tree))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclasses.dataclass
class Definition:
    """A word or truth that the text defines: its sort, what it is, and its annotations."""

    sort: Tree
    body: Tree
    notes: dict[str, str]


class System:
    """What a text defines: declared words, definitions, the next of each state variable, actions and claims."""

    def __init__(self, text: str) -> None:
        self.logic, self.declared, self.defined = "", dict[str, Tree](), dict[str, Definition]()
        self._digests: dict[str, str] = {}
        for command in parsed(text):
            self._read(command)
        self.next = {str(one.body): one.notes[":next"] for one in self.defined.values() if ":next" in one.notes}
        self.inputs = set(self.declared) - {*self.next, *self.next.values()}
        self.initially = self._only(":init")
        self.actions = [name.removeprefix("action: ") for name in self.joined(self._only(":trans"), "or")]
        self.domains = [name for name in self._noted(":invar-property") if name.startswith("domain: ")]
        known = [name for name in self._noted(":invar-property") if name not in self.domains]
        self.invariants = [name.removeprefix("invariant: ") for name in known]
        self.steps = list(dict.fromkeys(n.partition(", step: ")[2] for n in self.defined if ", step: " in n))
        self._check()

    def _read(self, command: Tree) -> None:
        match command:
            case ["set-logic", str(logic)]:
                self.logic = logic
            case ["declare-fun", str(name), [], sort] if name not in self.declared:
                self.declared[name] = sort
            case ["define-fun", str(name), [], sort, body] if self._is_new(name):
                notes = dict[str, str]()
                if isinstance(body, list) and body[:1] == ["!"] and len(body) == 4:
                    body, notes = body[1], {str(body[2]): str(body[3])}
                self.defined[name] = Definition(sort, body, notes)
            case _:
                raise NoCertificate(f"system.vmt: {printed(command, {})[:60]!r} is no definition of a system")

    def _is_new(self, name: str) -> bool:
        return not name.endswith("'") and name not in self.declared and name not in self.defined

    def _noted(self, note: str) -> list[str]:
        return [name for name, one in self.defined.items() if note in one.notes]

    def _only(self, note: str) -> str:
        """The one definition with an annotation."""
        names = self._noted(note)
        if len(names) != 1:
            raise NoCertificate(f"system.vmt: {len(names)} definitions are {note}, not one")
        return names[0]

    def joined(self, name: str, operator: str) -> list[str]:
        """The names of truths that a definition joins."""
        body = self.defined[name].body if name in self.defined else ""
        parts = body[1:] if isinstance(body, list) and body[:1] == [operator] else [body]
        names = [part for part in parts if isinstance(part, str) and part in self.defined]
        if names != parts:
            raise NoCertificate(f"system.vmt: {name} is not made of definitions by {operator}")
        return names

    def parts(self, action: str, *kinds: str) -> list[str]:
        """The definitions that an action is made of, of some kinds."""
        return [name for name in self.defined if name.startswith(tuple(f"{action}, {kind}: " for kind in kinds))]

    def needed(self, names: Iterable[str]) -> set[str]:
        """All symbols that some definitions need, at any remove."""
        found, pending = set[str](), list(names)
        while pending:
            if (name := pending.pop()) not in found:
                found.add(name)
                pending += symbols(self.defined[name].body) if name in self.defined else ()
        return found

    def _check(self) -> None:
        """An action is all of its parts and nothing else, and gives each field one value; claims are of the state."""
        later = set(self.next.values())
        if len(later) != len(self.next) or later & {*self.next} or not later | {*self.next} <= {*self.declared}:
            raise NoCertificate("system.vmt: a state variable is not declared, or has no next one of its own")
        of_state = [self.initially, *self.domains, *(f"invariant: {name}" for name in self.invariants)]
        self._without(later | self.inputs, of_state, "speaks of more than a state")
        for action in self.actions:
            if set(self.joined(f"action: {action}", "and")) != set(self.parts(action, *PARTS)):
                raise NoCertificate(f"system.vmt: action {action} is not made of its parts")
            given = [self.defined[name].body for name in self.parts(action, "next")]
            if not all(isinstance(one, list) and len(one) == 3 and one[0] == "=" for one in given):
                raise NoCertificate(f"system.vmt: action {action} has a field that is not made equal to anything")
            if sorted(str(one[1]) for one in given) != sorted(later):
                raise NoCertificate(f"system.vmt: action {action} does not give each field one value")
            for value in [one[2] for one in given]:
                self._without(later, symbols(value), f"is a value of action {action} that rests on another")
            claims = [f"{action}, step: {name}" for name in self.steps]
            if not set(claims) <= set(self.defined):
                raise NoCertificate(f"system.vmt: a claim says nothing of steps of action {action}")
            now = [*self.parts(action, "argument", "guard", "bound"), *claims]
            self._without(later, now, "speaks of the next state")

    def _without(self, unwanted: set[str], names: Iterable[str], fault: str) -> None:
        for name in names:
            if self.needed([name]) & unwanted:
                raise NoCertificate(f"system.vmt: {name} {fault}")

    def digest(self, *names: str) -> str:
        """Twelve hexadecimal digits that two texts share where they define the same by these names."""
        if not self._digests:
            for name, one in self.defined.items():
                self._digests[name] = _digest(printed(one.body, self._digests))
        return _digest(" ".join(self._digests[name] for name in names))

    def text(self, given: Iterable[str], denied: Iterable[str]) -> str:
        """A text that asks about the denial of each of some truths, one after the other, where others hold.

        A name that ends in ' is that of a truth after the step.
        """
        given, denied = list(given), list(denied)
        now, after = (self.needed(n.rstrip("'") for n in [*given, *denied] if n.endswith("'") == late)
                      for late in (False, True))  # fmt: skip
        renamed = self.next | {name: f"{name}'" for name in self.defined}
        lines = [f"(set-logic {self.logic})"]
        lines += [f"(declare-fun {printed(name, {})} () {printed(of, {})})" for name, of in self.declared.items()]
        for name, one in self.defined.items():
            for names in [dict[str, str]()] * (name in now) + [renamed] * (name in after):
                sort, body = printed(one.sort, {}), printed(one.body, names)
                lines.append(f"(define-fun {printed(name, names)} () {sort} {body})")
        lines += [f"(assert {printed(name, {})})" for name in given]
        for name in denied:
            lines += ["(push 1)", f"(assert (not {printed(name, {})}))" if name else "", "(check-sat)", "(pop 1)"]
        return "\n".join([*lines, ""])


Solver = Callable[[str, list[str]], list[str]]
"""Takes a text and a name for each question in it, and gives each answer."""


def by_command(command: list[str]) -> Solver:
    """A solver that is a command."""

    def answers(text: str, names: list[str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "question.smt2")
            file.write_text(text, encoding="utf-8")
            said = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
        return said.stdout.split()

    return answers


def by_package(proofs: pathlib.Path | None) -> Solver:
    """cvc5's Python package, which writes its proofs to a folder if there is one."""
    import cvc5

    def answers(text: str, names: list[str]) -> list[str]:
        solver = cvc5.Solver(cvc5.TermManager())
        solver.setOption("incremental", "true")
        if proofs is not None:
            solver.setOption("produce-proofs", "true")
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
        said = list[str]()
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, parser.getSymbolManager()).split()
            if proofs is not None and said and said[-1] == "unsat" and command.getCommandName() == "check-sat":
                proof = "".join(solver.proofToString(one).decode() for one in solver.getProof())
                file = re.sub(r"[^A-Za-z0-9]+", "-", names[len(said) - 1])
                (proofs / f"{file}.cpc").write_text(proof, encoding="utf-8")
        return said

    return answers


class Check:
    """The obligations of a system, each asked once.

    Attributes:
        of: the system.
        wrong: what is not as it must be.
        left_out: fields that some steps would take out of their domains.
        of_nothing: claims that no state or step could break, and actions that no state with the invariants enables.
        count: how many obligations there were.
    """

    def __init__(self, of: System, solver: Solver) -> None:
        self.of, self.solver, self.wrong, self.count = of, solver, list[str](), 0
        self.left_out, self.of_nothing = set[str](), set[str]()

    def ask(self, given: list[str], denied: list[str]) -> dict[str, str]:
        """The answer about the denial of each truth; of no denial about the given truths alone."""
        if not denied:
            return {}
        answers = self.solver(self.of.text(given, denied), [f"{given[-1]} {name}" for name in denied])
        self.count += len(denied)
        if len(answers) != len(denied):
            said = " ".join(answers)[:60]
            self.wrong.append(f"{given[-1]}: {len(answers)} answers to {len(denied)} questions: {said}")
            return dict.fromkeys(denied, "no answer")
        return dict(zip(denied, answers, strict=True))

    def expect(self, given: list[str], denied: list[str], expected: str = "unsat") -> None:
        """Note each denial to which the answer is not the expected one."""
        for name, said in self.ask(given, denied).items():
            if said != expected:
                self.wrong.append(f"{given[-1]}{f'; not {name}' if name else ''}: {said}, not {expected}")

    def refuted(self, given: list[str], denied: list[str]) -> set[str]:
        """The truths that cannot be denied where others hold."""
        answers = self.ask(given, denied)
        self.wrong += [f"{given[-1]}; not {name}: {said}" for name, said in answers.items()
                       if said not in ("sat", "unsat")]  # fmt: skip
        return {name for name, said in answers.items() if said == "unsat"}

    def everything(self) -> None:
        """All that is to be shown, and what part of it is about nothing."""
        of, invariants = self.of, [f"invariant: {name}" for name in self.of.invariants]
        starts = [name for name in of.defined if name.startswith("initially, step: ")]
        self.expect([of.initially], [""], "sat")
        self.expect([of.initially], [*of.domains, *invariants, *starts])
        self.of_nothing |= self.refuted(of.domains, invariants)
        premises, unbroken = [*of.domains, *invariants], set(of.steps)
        for action in of.actions:
            may, step = of.parts(action, "argument", "guard"), [*premises, f"action: {action}"]
            bounds = of.parts(action, "bound")
            self.left_out |= {n.partition(", bound: ")[2] for n in {*bounds} - self.refuted([*premises, *may], bounds)}
            self.of_nothing |= {f"action: {action}"} & {f"action: {action}" for _ in self.refuted(step, [""])}
            claims = {f"{action}, step: {name}": name for name in of.steps}
            self.expect(step, [*(f"{name}'" for name in premises), *claims])
            unsure = [name for name, claim in claims.items() if claim in unbroken]
            unbroken &= {claims[name] for name in self.refuted([*of.domains, *may], unsure)}
        self.of_nothing |= {f"step: {name}" for name in unbroken}


def index_of(text: str) -> dict[str, typing.Any]:
    """What an index says, by key."""
    index, kinds = json.loads(text), {"bounds": dict, "sentences": dict, "left_out": list, "of_nothing": list}
    words = {"system": str, "scope": str | None, "rules": str | None}
    if not isinstance(index, dict) or not all(isinstance(index.get(k), of) for k, of in {**kinds, **words}.items()):
        raise NoCertificate("index.json: it is no index of a certificate")
    return index


def check(folder: pathlib.Path, solver: Solver) -> list[str]:
    """Ask about everything, and print what was shown of which definitions; what is wrong, if anything is."""
    text = (folder / "system.vmt").read_text(encoding="utf-8")
    index = index_of((folder / "index.json").read_text(encoding="utf-8"))
    of = System(text)
    asked = Check(of, solver)
    sentences = index["sentences"]
    if not of.actions or not [*of.invariants, *of.steps]:
        raise NoCertificate("system.vmt: it claims nothing")
    if sorted(sentences) != sorted([*of.invariants, *of.steps]):
        raise NoCertificate("index.json: it has sentences of other claims than system.vmt")
    asked.everything()
    print(f"{index['system']}, scope {index['scope']} {index['bounds']}, rules {index['rules']}")
    print(f"{of.digest(of.initially)}  initially")
    for action in of.actions:
        print(f"{of.digest(f'action: {action}')}  action {action}")
    for name in of.invariants:
        print(f"{of.digest(f'invariant: {name}')}  invariant {name}: {sentences[name]}")
    for name in of.steps:
        print(f"{of.digest(*(f'{one}, step: {name}' for one in of.actions))}  step {name}: {sentences[name]}")
    for key, said, found in (("left_out", "steps that take it out of its domain are left out", asked.left_out),
                             ("of_nothing", "no state or step could break or take it", asked.of_nothing)):  # fmt: skip
        asked.wrong += [f"{name}: {said}, and index.json has it not in {key}" for name in sorted(found - {*index[key]})]
        for name in sorted(found):
            print(f"{name}: {said}")
    print(f"{asked.count:,} questions asked")
    return asked.wrong


def chosen(words: list[str]) -> Solver:
    """The solver that is asked for."""
    if words[:1] == ["--proofs"] and len(words) == 2:
        (folder := pathlib.Path(words[1])).mkdir(parents=True, exist_ok=True)
        return by_package(folder)
    if words or shutil.which("cvc5"):
        return by_command(words or ["cvc5", "--incremental"])
    return by_package(None)


if __name__ == "__main__":
    try:
        found = check(pathlib.Path(__file__).resolve().parent, chosen(sys.argv[1:]))
    except (ImportError, OSError) as error:
        sys.exit(f"there is no such solver, or no such file: {error}")
    except (ValueError, TypeError, RuntimeError) as error:
        print(f"this is no certificate: {str(error).splitlines()[0]}", file=sys.stderr)
        sys.exit(2)
    print(*found or ["everything is shown"], sep="\n")
    sys.exit(bool(found))
