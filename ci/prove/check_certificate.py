#!/usr/bin/env python3
"""Make the obligations of the system that system.vmt defines, and ask a solver about each; nothing else is needed.

python3 check.py                  asks cvc5: its command, or else its Python package
python3 check.py z3 -smt2         asks another solver: a command, to which the name of a file is added
python3 check.py --proofs FOLDER  asks cvc5's Python package, and writes each of its proofs there
"""

import sys

if __name__ == "__main__":
    sys.path.pop(0)  # a file that lies beside this one is no module of Python's

import itertools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import typing
from collections.abc import Callable, Iterable, Iterator

from kraftcheck.ci.prove.vmt import (
    PARTS,
    SIZE,
    START,
    Definition,
    Definitions,
    NoCertificate,
    Tree,
    parsed,
    printed,
    symbols,
)

BELOW = "is below "
AXIOMS = {
    "a size is no less than 0": "(>= (size A) 0)",
    "who has a size has a member": "(=> (>= (size A) 1) (exists ((x Int)) (in x A)))",
    "of two, there is another": "(=> (>= (size A) 2) (exists ((x Int) (y Int)) (and (in x A) (in y A) (not (= x y)))))",
    "a member counts": "(forall ((x Int)) (=> (in x A) (>= (size A) 1)))",
    "two members count": "(forall ((x Int) (y Int)) (=> (and (in x A) (in y A) (not (= x y))) (>= (size A) 2)))",
    "a larger set is not within a smaller one":
        "(=> (> (size A) (size B)) (exists ((w Int)) (and (in w A) (not (in w B)))))",
    "a set within another is smaller, or equal to it":
        "(forall ((x Int)) (=> (and (in x B) (not (in x A))) "
        "(or (< (size A) (size B)) (exists ((w Int)) (and (in w A) (not (in w B)))))))",
    "a set that is larger by two has two members more":
        "(=> (> (size A) (+ (size B) 1)) (exists ((w Int) (v Int)) "
        "(and (in w A) (not (in w B)) (in v A) (not (in v B)) (not (= v w)))))",
    "two sets that cover a third are together no smaller":
        "(=> (> (size A) (+ (size B) (size C))) (exists ((v Int)) (and (in v A) (not (in v B)) (not (in v C)))))",
    "two sets within a third that share no member are together no larger":
        "(=> (> (+ (size B) (size C)) (size A)) (exists ((v Int)) "
        "(or (and (in v B) (in v C)) (and (or (in v B) (in v C)) (not (in v A))))))",
}  # fmt: skip
"""What is true of the sizes of finite sets; each is shown by induction, and rests on those before it."""

FEW, LIMIT, NOT_DECIDED = range(-1, 3), 60_000, 22
"""Places of states with few, cvc5's milliseconds for a question, and the exit code of what is open."""


class DefinedSystem(Definitions):
    """The system that a text defines, and questions about it.

    Attributes:
        numbers: the words that no action changes and that are numbers.
        has_functions: whether a word has a value at every place.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.has_functions = any(places for places, _ in self.declared.values())
        effects = [*map(self.effects, self.actions)]
        self.numbers = [
            word for word, later in self.next.items()
            if self.declared[word] == ([], "Int") and all(one[later].body == word for one in effects)
        ]  # fmt: skip
        for part in [part for action in self.actions for part in self.parts(action, "argument")]:
            if self.needed([part]) & ({*self.next} - {*self.numbers}):  # it would be a condition that is not printed
                raise NoCertificate(f"system.vmt: {part} is of a state, and no argument")
        for name in self.sets:
            self._end(name)

    def _end(self, name: str) -> None:
        """Define that a set has members only below the sum of all numbers, so that it has a size."""
        of = self.defined[name]
        within: Tree = ["and", ["<=", "0", of.given[-1]], ["<", of.given[-1], ["+", "0", "0", *self.numbers]]]
        self.defined[f"{name} ends"] = Definition("Bool", ["forall", of.places(), ["=>", [name, *of.given], within]])

    def text(self, given: Iterable[str], denied: Iterable[str], few: list[str] | None = None) -> str:
        """A text that asks about the denial of each of some truths, one after the other, where others hold.

        A name that ends in ' is that of a truth after the step: there a field is what the action makes of it. With
        `few`, truths that hold as well, what has a value at every place has one at each of few, and another everywhere
        else; and sets have members among the few. Such a state is one, and found.
        """
        given, denied = list(given), list(denied)
        late = self.needed(name.rstrip("'") for name in denied if name.endswith("'"))
        effects = dict[str, Definition]()
        for action in [name.removeprefix("action: ") for name in given if name.startswith("action: ")]:
            given, effects = [*given[:-1], *self.parts(action, *PARTS[:3])], self.effects(action)
        values = itertools.chain.from_iterable(symbols(one.body) for one in effects.values())
        now = self.needed([*given, *(name for name in denied if not name.endswith("'")), *values])
        renamed = self.next | {name: f"{name}'" for name in [*self.defined, *(SIZE + name for name in self.sets)]}
        shown = [*((name, one, dict[str, str]()) for name, one in self.defined.items() if name in now),
                 *((word, one, dict[str, str]()) for word, one in effects.items()),
                 *((name, one, renamed) for name, one in self.defined.items() if name in late)]  # fmt: skip
        lines = [f"(set-logic {self.logic})", *self._words(few is not None), *self._below(few is not None)]
        sets = dict[str, int]()
        for name, one, names in shown:
            of, sort = printed(one.places(), {}), printed(one.sort, {})
            lines.append(f"(define-fun {printed(name, names)} {of} {sort} {printed(self._marked(one.body), names)})")
            if SIZE + name in (late if names is renamed else now):
                sets[names.get(name, name)] = len(one.given) - 1
                lines += self._sized(names.get(name, name), one, few is not None)
        lines += [f"(assert {truth})" for truth in few] if few is not None else axioms(sets)
        lines += [f"(assert {printed(name, {})})" for name in given]
        for name in denied:
            lines += ["(push 1)", f"(assert (not {printed(name, {})}))" if name else "", "(check-sat)", "(pop 1)"]
        return "\n".join([*lines, ""])

    def _sized(self, name: str, one: Definition, few: bool) -> list[str]:
        """The lines about the size of a set, which with few has members among them only."""
        if not few:
            return [f"(declare-fun {printed(SIZE + name, {})} {printed(['Int'] * len(one.given[1:]), {})} Int)"]
        among: Tree = ["and", ["<=", "0", one.given[-1]], ["<", one.given[-1], str(FEW.stop)]]
        inside = printed(["forall", one.places(), ["=>", [name, *one.given], among]], {})
        return [f"(assert {inside})", counted(name, one.given)]

    def _words(self, few: bool) -> Iterator[str]:
        """The lines that declare the words of a state, and of arguments."""
        for name, (places, sort) in self.declared.items():
            if name.startswith(SIZE) or name in self.next.values():
                continue
            yield from table(name, len(places), printed(sort, {})) if few and places else [
                f"(declare-fun {printed(name, {})} {printed(places, {})} {printed(sort, {})})"]  # fmt: skip

    def _below(self, few: bool) -> Iterator[str]:
        """The lines that say what it is to be below a number; a truth of its own, at which solvers find places."""
        for number in self.numbers:
            word, less = printed(BELOW + number, {}), printed(["<", "x", number], {})
            yield f"(define-fun {word} ((x Int)) Bool {less})" if few else (
                f"(declare-fun {word} (Int) Bool)\n"
                f"(assert (forall ((x Int)) (! (= ({word} x) {less}) :pattern (({word} x)))))")  # fmt: skip

    def _marked(self, tree: Tree) -> Tree:
        """A term in which it is said by a truth of its own what is below a number."""
        match tree:
            case ["<", place, str(number)] if number in self.numbers:
                return [BELOW + number, self._marked(place)]
        return [self._marked(part) for part in tree] if isinstance(tree, list) else tree


def word_at(name: str, row: Iterable[str]) -> str:
    """The constant that a function is at some places; a text declares no word that is named so. Without any, itself."""
    at = " ".join(row)
    return f"at {at} of {name}" if at else name


def table(name: str, count: int, sort: str, at: range = FEW) -> Iterator[str]:
    """The lines that define a function of some places by constants: one for each of few, one for all others."""
    given, rows = [f"x{number}" for number in range(count)], [*itertools.product(map(str, at), repeat=count)]
    words = [printed(word_at(name, row), {}) for row in [("beyond",), *rows]]
    value = words[0]
    for word, row in zip(words[1:], rows, strict=True):
        numbers = [at if at[0] != "-" else f"(- {at[1:]})" for at in row]
        here = " ".join(f"(= {one} {at})" for one, at in zip(given, numbers, strict=True))
        value = f"(ite (and true {here}) {word} {value})"
    yield from (f"(declare-fun {word} () {sort})" for word in words)
    yield f"(define-fun {printed(name, {})} ({' '.join(f'({one} Int)' for one in given)}) {sort} {value})"


def counted(name: str, given: list[str], at: range = FEW) -> str:
    """The line that says how many members a set has among few."""
    ones: list[Tree] = [["ite", [name, *given[:-1], str(one)], "1", "0"] for one in at if one >= 0]
    of, size = printed([[one, "Int"] for one in given[:-1]], {}), printed(["+", "0", "0", *ones], {})
    return f"(define-fun {printed(SIZE + name, {})} {of} Int {size})"


def axioms(sets: dict[str, int]) -> Iterator[str]:
    """The axioms about the sizes of some sets, of each of which it is said how many places it is given."""

    for text in AXIOMS.values():
        for names in itertools.product(sets, repeat=len(letters(text))):
            of, bound = dict[str, tuple[Tree, Tree]](), list[Tree]()
            for letter, name in zip(letters(text), names, strict=True):
                places: list[Tree] = [f"{letter}{number}" for number in range(sets[name])]
                of[letter] = [SIZE + name, *places] if places else SIZE + name, [name, *places, "place"]
                bound += [[place, "Int"] for place in places]
            if len({*names}) == len(names) or bound:
                yield f"(assert {printed(['forall', bound, said(text, of)] if bound else said(text, of), {})})"


def letters(axiom: str) -> list[str]:
    """The sets that an axiom is about."""
    return sorted({"A", "B", "C"} & {*symbols(parsed(axiom))})


def said(axiom: str, of: dict[str, tuple[Tree, Tree]]) -> Tree:
    """An axiom about some sets, of each of which it is given what its size is, and that `place` is a member."""

    def read(tree: Tree) -> Tree:
        match tree:
            case ["size", str(letter)]:
                return of[letter][0]
            case ["in", str(place), str(letter)]:
                return parsed(printed(of[letter][1], {"place": place}))
        return [read(part) for part in tree] if isinstance(tree, list) else tree

    return read(parsed(axiom))


def induction(name: str) -> str:
    """A text: is an axiom true of three sets below 0, and below n + 1 if below n? Earlier axioms are taken as true."""
    before = itertools.takewhile(lambda text: text != AXIOMS[name], AXIOMS.values())
    now: dict[str, tuple[Tree, Tree]] = {
        one: (f"size {one}", ["and", ["<=", "0", "place"], ["<", "place", "n"], [one, "place"]]) for one in "ABC"
    }
    then: dict[str, tuple[Tree, Tree]] = {
        one: (["+", f"size {one}", ["ite", [one, "n"], "1", "0"]],
              ["and", ["<=", "0", "place"], ["<=", "place", "n"], [one, "place"]]) for one in "ABC"}  # fmt: skip
    known = [said(AXIOMS[name], now)]
    known += [said(text, {one: meaning[of] for one, of in zip("ABC", chosen, strict=False)})
              for text, meaning in itertools.product(before, (now, then))
              for chosen in itertools.permutations("ABC", len(letters(text)))]  # fmt: skip
    words = [f"(declare-fun {one} (Int) Bool)\n(declare-fun |size {one}| () Int)" for one in "ABC"]
    none: dict[str, tuple[Tree, Tree]] = dict.fromkeys("ABC", ("0", "false"))
    return "\n".join([
        "(set-logic ALL)", "(declare-fun n () Int)", *words,
        "(push 1)", f"(assert (not {printed(said(AXIOMS[name], none), {})}))", "(check-sat)", "(pop 1)",
        "(assert (>= n 0))", *(f"(assert {printed(truth, {})})" for truth in known),
        f"(assert (not {printed(said(AXIOMS[name], then), {})}))", "(check-sat)", "",
    ])  # fmt: skip


Solver = Callable[[str, list[str]], list[str]]  # takes a text and a name for each question in it, and gives each answer


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
        solver.setOption("tlimit-per", str(LIMIT))
        solver.setOption("enum-inst", "true")
        if proofs is not None:
            solver.setOption("produce-proofs", "true")
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
        said = list[str]()
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, parser.getSymbolManager()).split()[:1]  # "unknown" has its reason beside it
            if proofs is not None and said and said[-1] == "unsat" and command.getCommandName() == "check-sat":
                proof = "".join(solver.proofToString(one).decode() for one in solver.getProof())
                file = re.sub(r"[^A-Za-z0-9]+", "-", names[len(said) - 1])
                (proofs / f"{file}.cpc").write_text(proof, encoding="utf-8")
        return said

    return answers


class Obligations:
    """The obligations of a system, each asked once.

    Attributes:
        wrong: what is not as it must be.
        undecided: what the solver does not know.
        left_out: fields that some steps would take out of their domains.
        of_nothing: claims that no state or step could break, and actions that no state with the invariants enables.
        count: how many obligations there were.
    """

    def __init__(self, of: DefinedSystem, solver: Solver) -> None:
        self.of, self.solver, self.wrong, self.undecided, self.count = of, solver, list[str](), list[str](), 0
        self.left_out, self.of_nothing = set[str](), set[str]()

    def ask(self, given: list[str], denied: list[str], few: list[str] | None = None) -> dict[str, str]:
        """The answer about the denial of each truth; of no denial about the given truths alone."""
        if not denied:
            return {}
        answers = self.solver(self.of.text(given, denied, few), [f"{given[-1]} {name}" for name in denied])
        self.count += len(denied)
        if len(answers) != len(denied):
            said = " ".join(answers)[:60]
            self.wrong.append(f"{given[-1]}: {len(answers)} answers to {len(denied)} questions: {said}")
            return dict.fromkeys(denied, "no answer")
        return dict(zip(denied, answers, strict=True))

    def expect(self, given: list[str], denied: list[str]) -> None:
        """Note what the solver does not show to follow; first without what is said of sizes."""
        easy = [name for name in denied if not self.of.has_sizes(name.rstrip("'"))]
        few = [name for name in given if name == given[-1] or not self.of.has_sizes(name)]
        answers = self.ask(few, easy) if few != given else {}
        shown = {name for name, said in answers.items() if said == "unsat"}
        for name, said in self.ask(given, [name for name in denied if name not in shown]).items():
            if said != "unsat":
                self._note(said, f"{given[-1]}; not {name}: {said}, not unsat")

    def refuted(self, given: list[str], denied: list[str]) -> set[str]:
        """The truths that cannot be denied where others hold; of no truth, whether the others contradict each other."""
        two = [f"(= {printed(number, {})} {FEW[-1]})" for number in self.of.numbers]
        found = self.ask(given, denied, two) if self.of.has_functions else {}
        answers = self.ask(given, [name for name in denied if found.get(name) != "sat"])
        unsure = [name for name, said in answers.items() if said == "unknown" and self.of.has_functions]
        few = self.ask(given, unsure, [])
        answers |= {name: said for name, said in few.items() if said == "sat"}  # there may be such a state of more
        for name, said in answers.items():
            if said not in ("sat", "unsat"):
                self._note(said, f"{given[-1]}{f'; not {name}' if name else ''}: {said}, whether there is such a state")
        return {name for name, said in answers.items() if said == "unsat"}

    def _note(self, said: str, line: str) -> None:
        (self.undecided if said == "unknown" else self.wrong).append(line)

    def everything(self) -> None:
        """All that is to be shown, and what part of it is about nothing."""
        of, invariants = self.of, [f"invariant: {name}" for name in self.of.invariants]
        self.wrong += [f"{START}: unsat, not sat" for _ in self.refuted([START], [""])]
        for name in of.sets:  # each alone, for what is said of its size is true only if it ends
            self.expect(of.domains, [f"{name} ends"])
        for name in AXIOMS if of.sets else ():
            self.count += len(asked := [f"{name}, of none", f"{name}, of one more"])
            for question, said in itertools.zip_longest(asked, self.solver(induction(name), asked), fillvalue="none"):
                if said != "unsat":
                    self._note(said, f"sizes: {question}: {said}, not unsat")
        if of.sets and (self.wrong or self.undecided):
            return  # no size means anything
        self.expect([START], [*of.domains, *invariants, *of.parts(START, "step")])
        for action in of.actions:
            step = [*of.domains, *invariants, f"action: {action}"]
            self.expect(step, [f"{name}'" for name in of.domains])  # alone: else no set after the step has a size
            self.expect(step, [*(f"{name}'" for name in invariants), *of.parts(action, "step")])
        self.remarks()

    def remarks(self) -> None:
        """What is left out, and what is about nothing."""
        of, invariants = self.of, [f"invariant: {name}" for name in self.of.invariants]
        self.of_nothing |= self.refuted(of.domains, invariants)
        premises, unbroken = [*of.domains, *invariants], set(of.steps)
        for action in of.actions:
            may = of.parts(action, "argument", "guard")
            kept = self.refuted([*premises, *may], bounds := of.parts(action, "bound"))
            self.left_out |= {name.partition(", bound: ")[2] for name in {*bounds} - kept}
            self.of_nothing |= {f"action: {action}" for _ in self.refuted([*premises, f"action: {action}"], [""])}
            claims = {f"{action}, step: {name}": name for name in of.steps}
            unsure = [name for name, claim in claims.items() if claim in unbroken]
            unbroken &= {claims[name] for name in self.refuted([*of.domains, *may], unsure)}
        self.of_nothing |= {f"step: {name}" for name in unbroken}


def _once(pairs: list[tuple[str, typing.Any]]) -> dict[str, typing.Any]:
    """An object of JSON: of two values of a key one reader takes the first, and another the last."""
    if len(found := dict(pairs)) < len(pairs):
        raise NoCertificate("index.json: it says something of one name twice")
    return found


def index_of(said: str) -> dict[str, typing.Any]:
    """The entries of an index, by key."""
    index = json.loads(said, object_pairs_hook=_once)
    kinds = {"bounds": dict, "sentences": dict, "left_out": list, "of_nothing": list,
             "system": str, "scope": str | None, "rules": str | None}  # fmt: skip
    if not isinstance(index, dict) or not all(isinstance(index.get(key), of) for key, of in kinds.items()):
        raise NoCertificate("index.json: it is no index of a certificate")
    texts = [index["system"], index["scope"], index["rules"], *index["left_out"], *index["of_nothing"]]
    for text in (*texts, *index["sentences"], *index["sentences"].values()):
        if text is not None and not (isinstance(text, str) and text.isprintable()):
            raise NoCertificate(f"index.json: {text!r:.60} is no line of text")
    return index


def check(folder: pathlib.Path, solver: Solver) -> Obligations:
    """Ask about everything, and print what was shown of which definitions."""
    text = (folder / "system.vmt").read_bytes().decode()
    index = index_of((folder / "index.json").read_bytes().decode())
    of = DefinedSystem(text)
    asked = Obligations(of, solver)
    sentences = index["sentences"]
    if not of.actions or not [*of.invariants, *of.steps]:
        raise NoCertificate("system.vmt: it claims nothing")
    if sorted(sentences) != sorted([*of.invariants, *of.steps]):
        raise NoCertificate("index.json: it has sentences of other claims than system.vmt")
    asked.everything()
    print(f"{index['system']}, scope {index['scope']} {index['bounds']}, rules {index['rules']}")
    print(f"{of.digest(START)}  initially")
    for action in of.actions:
        guards = ", and ".join(part.partition(", guard: ")[2] for part in of.parts(action, "guard"))
        print(f"{of.digest(f'action: {action}')}  action {action}{f', if {guards}' * bool(guards)}")
    for name in of.invariants:
        print(f"{of.digest(f'invariant: {name}')}  invariant {name}: {sentences[name]}")
    for name in of.steps:
        parts = [part for one in (START, *of.actions) if (part := f"{one}, step: {name}") in of.defined]
        print(f"{of.digest(*parts)}  step {name}: {sentences[name]}")
    print(f"actions: {len(of.actions)}; invariants: {len(of.invariants)}; claims about steps: {len(of.steps)}")
    for key, said, found in (("left_out", "steps that take it out of its domain are left out", asked.left_out),
                             ("of_nothing", "no state or step could break or take it", asked.of_nothing)):  # fmt: skip
        asked.wrong += [f"{name}: {said}, and index.json has it not in {key}" for name in sorted(found - {*index[key]})]
        for name in sorted(found):
            print(f"{name}: {said}")
    print(f"{asked.count:,} questions asked")
    print(*asked.wrong, *asked.undecided, sep="\n", end="\n" * bool(asked.wrong or asked.undecided))
    return asked


def chosen(words: list[str]) -> Solver:
    """The solver that is asked for."""
    if words[:1] == ["--proofs"] and len(words) == 2:
        (folder := pathlib.Path(words[1])).mkdir(parents=True, exist_ok=True)
        return by_package(folder)
    if words or shutil.which("cvc5"):
        return by_command(words or ["cvc5", "--incremental", "--enum-inst", f"--tlimit-per={LIMIT}"])
    return by_package(None)


def main(folder: pathlib.Path, words: list[str]) -> int:
    """Check what a folder holds, print what was found, and give the exit code."""
    try:
        found = check(folder, chosen(words))
    except (ImportError, OSError) as error:
        print(f"there is no such solver, or no such file: {error}", file=sys.stderr)
        return 1
    except (ValueError, TypeError, RuntimeError) as error:
        print(f"this is no certificate: {str(error).splitlines()[0]}", file=sys.stderr)
        return 2
    if found.wrong:
        return 1
    print("not everything is decided: this shows nothing" if found.undecided else "everything is shown")
    return NOT_DECIDED if found.undecided else 0


if __name__ == "__main__":
    here = pathlib.Path(__file__).absolute()  # a link to an installed script is about the folder that it is in
    sys.exit(main(here.parent, sys.argv[1:]))
