"""What system.vmt may hold: closed lists of commands, names, annotations and operators; all else is refused.

What a term binds is named `bound N` or `a!N`. Nothing is declared or defined by such a name, and no question makes
one: so no binding hides what something else means.
"""

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

SIMPLE = re.compile(r"[\w~!@$%^&*+=<>.?/:#-]+", re.ASCII)
TOKEN = re.compile(rf";[^\n]*|[ \t\n]+|(\|[^|\\]*\||[()]|{SIMPLE.pattern})", re.ASCII)
NUMERAL = re.compile(r"0|[1-9][0-9]*")
LITERAL = re.compile(rf"true|false|{NUMERAL.pattern}|#b[01]+|#x[0-9a-fA-F]+")
PLACE, LET = re.compile(r"bound [0-9]+"), re.compile(r"a![0-9]+")
START, WORD, SIZE, DEEPEST = "initially", "$", "size of ", 100

OPERATORS = frozenset({
    "not", "and", "or", "=>", "xor", "=", "distinct", "ite", "+", "-", "*", "div", "mod", "abs", "<", "<=", ">", ">=",
    "ubv_to_int", "sbv_to_int", "bv2int", "bv2nat", "concat", "bvnot", "bvneg", "bvand", "bvor", "bvxor", "bvadd",
    "bvsub", "bvmul", "bvudiv", "bvurem", "bvsdiv", "bvsrem", "bvsmod", "bvshl", "bvlshr", "bvashr", "bvult", "bvule",
    "bvugt", "bvuge", "bvslt", "bvsle", "bvsgt", "bvsge",
})  # fmt: skip
INDEXED = frozenset({"extract", "zero_extend", "sign_extend", "int_to_bv", "int2bv"})
RESERVED = OPERATORS | INDEXED | {"_", "!", "as", "let", "forall", "exists", "match", "par", "Bool", "Int", "BitVec"}

PARTS = ("argument", "guard", "bound", "next")
OF_ACTION = re.compile(f", ({'|'.join(PARTS)}|step): ")
NAMED = re.compile(r"(t)[1-9][0-9]*|(set) [1-9][0-9]*|(initially)|(next)|(field|domain|initial|action|invariant): (.*)")
NOTES = {"field": ":next", "domain": ":invar-property", "invariant": ":invar-property", "initially": ":init",
         "transition": ":trans"}  # fmt: skip
"""The annotation that each definition of a kind has; others have none."""

Tree = str | list["Tree"]


class NoCertificate(ValueError):
    """A text that is not what this program checks."""


def commands(text: str) -> Iterator[tuple[int, Tree]]:
    """The commands of a text, each with its line."""
    stack, place, line, begins = list[list[Tree]]([[]]), 0, 1, 1
    while place < len(text):
        if (token := TOKEN.match(text, place)) is None:
            said = f"no symbol begins, or it is not closed, at {text[place : place + 20]!r}"
            raise NoCertificate(f"system.vmt:{line}: {said}")
        if len(stack) > DEEPEST:
            raise NoCertificate(f"system.vmt:{line}: brackets are nested more than {DEEPEST} deep")
        if token[1] is None:
            line += token[0].count("\n")
        elif token[1] == "(":
            begins = line if len(stack) == 1 else begins
            stack.append([])
        elif token[1] == ")" and len(stack) > 1:
            stack[-2].append(stack.pop())
        else:
            stack[-1].append(_symbol(token[1], line))
        if not token[0].translate({ord("\n"): " ", ord("\t"): " "}).isprintable():
            raise NoCertificate(f"system.vmt:{line}: {token[0][:60]!r} has a character that is not shown")
        place = token.end()
        if len(stack) == 1 and stack[0]:
            yield begins, stack[0].pop()
    if len(stack) != 1:
        raise NoCertificate(f"system.vmt:{begins}: a bracket is not closed")


def _symbol(word: str, line: int) -> str:
    """A symbol without its bars, which make no name of what has another meaning."""
    name = word[1:-1] if word.startswith("|") else word
    if name != word and (name in RESERVED or LITERAL.fullmatch(name) or name[:1] in ("", ":", "#") or "\n" in name):
        raise NoCertificate(f"system.vmt:{line}: {word!r} is no name")
    return name


def parsed(text: str) -> Tree:
    """The one term of a text."""
    ((_, tree),) = commands(text)
    return tree


def printed(tree: Tree, names: Mapping[str, str]) -> str:
    """A term as text, with other names for some symbols."""
    if isinstance(tree, list):
        return f"({' '.join(printed(part, names) for part in tree)})"
    name = names.get(tree, tree)
    return name if SIMPLE.fullmatch(name) else f"|{name}|"


def symbols(tree: Tree) -> Iterator[str]:
    """The symbols of a term."""
    yield from [tree] if isinstance(tree, str) else itertools.chain.from_iterable(map(symbols, tree))


@dataclasses.dataclass
class Definition:
    """A word or truth that the text defines: its sort, what it is, its annotation, and the places it is given."""

    sort: Tree
    body: Tree
    note: str = ""
    given: list[str] = dataclasses.field(default_factory=list)

    def places(self) -> Tree:
        """What declares the places that it is given."""
        return [[name, "Int"] for name in self.given]


def made_equal(effect: Tree) -> tuple[str, Definition] | None:
    """The word that an effect makes equal to something, and to what."""
    match effect:
        case ["forall", [*given], ["=", [str(name), *places], value]] if [[one, "Int"] for one in places] == given:
            words = list(map(str, places))
            return (name, Definition("", value, given=words)) if len({*words}) == len(words) else None
        case ["=", str(name), value]:
            return name, Definition("", value)
    return None


def kind_of(name: str) -> tuple[str, str, str]:
    """The kind of a definition by its name, the action that it is a part of, if it is one, and what it is of."""
    action, *more = OF_ACTION.split(name)
    if len(more) == 2 and not name.endswith("'"):
        return more[0], action, more[1]
    named = None if more or name.endswith("'") else NAMED.fullmatch(name)
    if named is None:
        raise NoCertificate(f"no definition is named {name}")
    return next(kind for kind in named.groups() if kind).replace("next", "transition"), "", named[6] or ""


class Definitions:
    """The definitions of a text.

    Attributes:
        logic: in which it is written.
        declared: places and sort of each word, of the state now and next, of arguments, and of sizes.
        defined: each definition by its name.
        next: of each word of the state the word of the next state.
        sets: those whose sizes are asked for, the first first.
        inputs: the words of arguments.
        actions, domains, invariants, steps: names of the actions, domains, invariants and claims about steps.
    """

    def __init__(self, text: str) -> None:
        self.logic, self.declared, self.defined = "", dict[str, tuple[list[Tree], Tree]](), dict[str, Definition]()
        self.next, self.sets = dict[str, str](), list[str]()
        self._kinds, self._digests = dict[str, tuple[str, str, str]](), dict[str, str]()
        for line, command in commands(text):
            try:
                self._read(command)
            except NoCertificate as error:
                raise NoCertificate(f"system.vmt:{line}: {error}") from error
        self.inputs = {*self.declared} - {*self.next, *self.next.values(), *(SIZE + name for name in self.sets)}
        self.actions, self.invariants, self.steps = self._of("action"), self._of("invariant"), self._of("step")
        self.domains = [f"domain: {of}" for of in self._of("domain")]
        try:
            self._check()
        except NoCertificate as error:
            raise NoCertificate(f"system.vmt: {error}") from error

    def _of(self, kind: str) -> list[str]:
        """What the definitions of a kind are of, each once."""
        return list(dict.fromkeys(of for one, action, of in self._kinds.values() if one == kind and action != START))

    def _read(self, command: Tree) -> None:
        match command:
            case ["set-logic", "ALL" | "QF_BV" as logic] if not self.logic:
                self.logic = str(logic)
            case ["declare-fun", str(name), [*places], sort] if self._may_be_declared(name, places, sort):
                self.declared[name] = places, sort
                self.sets += [name.removeprefix(SIZE)] * name.startswith(SIZE)
            case ["define-fun", str(name), [*given], sort, body] if self._may_be_defined(name):
                self._define(name, given, sort, body)
            case _:
                raise NoCertificate(f"{printed(command, {})[:60]!r} is no definition of a system")

    def _may_be_defined(self, name: str) -> bool:
        """Whether a definition has a name of its own, now and after a step."""
        return bool(self.logic) and name not in self.defined and {name, f"{name}'"}.isdisjoint(self.declared)

    def _may_be_declared(self, name: str, places: list[Tree], sort: Tree) -> bool:
        """Whether a word may be declared: a size is an Int of what its set is given, but for a place."""
        hides = name in self.declared or {name, name.removesuffix("'")} & self.defined.keys()
        if not self.logic or hides or any(one != "Int" for one in places):
            return False
        if name.startswith(SIZE):
            of = self.defined.get(name.removeprefix(SIZE))
            return of is not None and sort == "Int" and len(of.given) == len(places) + 1
        match sort:
            case ["_", "BitVec", str(width)]:
                return name.startswith(WORD) and NUMERAL.fullmatch(width) is not None and width != "0"
        return name.startswith(WORD) and sort in ("Bool", "Int")

    def _define(self, name: str, given: list[Tree], sort: Tree, body: Tree) -> None:
        kind, places = kind_of(name), [str(one[0]) for one in given if isinstance(one, list) and one]
        if [[one, "Int"] for one in places] != given or not self._may_be_given(kind[0], places):
            raise NoCertificate(f"{name} is given {printed(given, {})}")
        if sort != "Bool" and kind[0] not in ("t", "field"):
            raise NoCertificate(f"{name} is {printed(sort, {})}, and no truth")
        note, wanted = "", NOTES.get(kind[0])
        match body:
            case ["!", inside, str(key), str(said)] if key == wanted:
                body, note = inside, said
            case _ if wanted or body[:1] == ["!"]:
                raise NoCertificate(f"{name} is annotated otherwise than by {wanted or 'nothing'}")
        self._check_term(body, {*places})
        if wanted and note not in self._notes(kind, body, places, sort):
            raise NoCertificate(f"{name} is {wanted} {note}")
        self.defined[name], self._kinds[name] = Definition(sort, body, note, places), kind
        self.next |= {str(body[0] if places else body): note} if kind[0] == "field" else {}

    @staticmethod
    def _may_be_given(kind: str, places: list[str]) -> bool:
        """Whether a definition may be given some places: a set is given one at least, and a field of a map is."""
        fits = kind == "field" or bool(places) == (kind == "set")
        return fits and len({*places}) == len(places) and all(map(PLACE.fullmatch, places))

    def _notes(self, kind: tuple[str, str, str], body: Tree, places: list[str], sort: Tree) -> Iterable[str]:
        """What may be said by the annotation of a definition."""
        if kind[0] != "field":
            count = sum(NOTES.get(one) == ":invar-property" for one, _, _ in self._kinds.values())
            return ["true" if kind[0] in ("initially", "transition") else str(count)]
        word, known = str(body[0] if isinstance(body, list) else body), {*self.next, *self.next.values()}
        as_given = self.declared.get(word) == (["Int"] * len(places), sort)
        if body != ([word, *places] if places else word) or not as_given or word in known:
            return []
        return {name for name, like in self.declared.items() if like == self.declared[word]} - {*known, word}

    def _check_term(self, tree: Tree, bound: set[str]) -> None:
        """Check that a term has only operators, names that it binds, and names declared or defined before."""
        parts: list[Tree] = []
        match tree:
            case ["let" | "forall" | "exists" as binder, [_, *_] as bindings, body]:
                bound = bound | self._bound(str(binder), bindings, bound)
                parts = [body]
            case [["_", str(name), *numbers], *parts] if parts and name in INDEXED:
                if not all(isinstance(one, str) and NUMERAL.fullmatch(one) for one in numbers):
                    raise NoCertificate(f"{printed(tree, {})[:60]!r} is no term")
            case [str(name), _, *_] if name in OPERATORS or self._count_places(name) == len(tree) - 1:
                parts = [*tree[1:]]
            case str() if LITERAL.fullmatch(tree) or tree in bound or self._count_places(tree) == 0:
                pass
            case _:
                raise NoCertificate(f"{printed(tree, {})[:60]!r} is no term")
        for part in parts:
            self._check_term(part, bound)

    def _bound(self, binder: str, bindings: list[Tree], bound: set[str]) -> set[str]:
        names = set[str]()
        for one in bindings:
            match one:
                case [str(name), value] if (LET if binder == "let" else PLACE).fullmatch(name) and name not in names:
                    names.add(name)
                    if binder == "let":
                        self._check_term(value, bound)
                    elif value != "Int":
                        raise NoCertificate(f"{binder} binds {name} to {printed(value, {})}")
                case _:
                    said = one[0] if isinstance(one, list) and one else one
                    raise NoCertificate(f"{binder} binds {printed(said, {})}")
        return names

    def _count_places(self, name: str) -> int:
        """How many places a declared or defined word is given; -1 of another."""
        if name in self.defined:
            return len(self.defined[name].given)
        return len(self.declared[name][0]) if name in self.declared else -1

    def parts(self, action: str, *kinds: str) -> list[str]:
        """The definitions that an action is made of, of some kinds."""
        return [name for name, (kind, of, _) in self._kinds.items() if of == action and kind in kinds]

    def _check(self) -> None:
        """All is there once, and joined; and claims, guards and values speak of no state but theirs."""
        fields, later = self._of("field"), {*self.next.values()}
        initial = [f"initial: {of}" for of in self._of("initial")]
        self._check_joined(START, "and", [*self.domains, *initial])
        self._check_joined("next", "or", [f"action: {action}" for action in self.actions])
        owners, starts = {action for _, action, _ in self._kinds.values()}, self.parts(START, "step")
        of_steps = {f"{START}, step: {name}" for name in self.steps}
        if fields != self._of("domain") or owners - {"", START, *self.actions}:
            raise NoCertificate("a field has no domain, or an action has parts and is none")
        if START in self.actions or self.parts(START, *PARTS) or {*starts} - of_steps:
            raise NoCertificate(f"{START} has parts of an action, or claims that are not of steps")
        invariants = [f"invariant: {name}" for name in self.invariants]
        self._without(later | self.inputs, [START, *self.domains, *invariants, *starts], "speaks of more than a state")
        self._without({SIZE + name for name in self.sets}, self.domains, "speaks of a size")
        for action in self.actions:
            self._check_joined(f"action: {action}", "and", self.parts(action, *PARTS))
            for one in self.effects(action).values():
                self._without(later, symbols(one.body), f"is a value of action {action} that rests on another")
            claims = [f"{action}, step: {name}" for name in self.steps]
            if self.parts(action, "step") != claims:
                raise NoCertificate(f"action {action} has other claims about steps, or in another order")
            self._without(later, [*self.parts(action, *PARTS[:3]), *claims], "speaks of the next state")

    def _check_joined(self, name: str, operator: str, parts: list[str]) -> None:
        body = self.defined[name].body if name in self.defined else ""
        if not parts or body != ([operator, *parts] if len(parts) > 1 else parts[0]):
            raise NoCertificate(f"{name} is not made of its parts")

    def effects(self, action: str) -> dict[str, Definition]:
        """What an action makes of each word of the next state."""
        found, fields = dict[str, Definition](), self._of("field")
        if [*self.parts(action, "next")] != [f"{action}, next: {field}" for field in fields]:
            raise NoCertificate(f"action {action} does not give each field one value")
        for field in fields:
            later = self.defined[f"field: {field}"].note
            made, (places, sort) = made_equal(self.defined[f"{action}, next: {field}"].body), self.declared[later]
            if made is None or made[0] != later or len(made[1].given) != len(places):
                raise NoCertificate(f"action {action} has a field that is not made equal to anything: {field}")
            found[later] = dataclasses.replace(made[1], sort=sort)
        return found

    def needed(self, names: Iterable[str]) -> set[str]:
        """All symbols that some definitions need, at any remove."""
        found, pending = set[str](), list(names)
        while pending:
            if (name := pending.pop()) not in found:
                found.add(name)
                pending += [name.removeprefix(SIZE)] * (name.removeprefix(SIZE) in self.sets)
                pending += symbols(self.defined[name].body) if name in self.defined else ()
        return found

    def has_sizes(self, name: str) -> bool:
        """Whether a definition needs the size of a set."""
        return any(SIZE + one in self.needed([name]) for one in self.sets)

    def _without(self, unwanted: set[str], names: Iterable[str], fault: str) -> None:
        for name in names:
            if self.needed([name]) & unwanted:
                raise NoCertificate(f"{name} {fault}")

    def digest(self, *names: str) -> str:
        """The SHA-256 that two texts share where they define the same by these names, sets asked for their size too."""

        def digest(text: str) -> str:
            return hashlib.sha256(f"{self.logic} {text}".encode()).hexdigest()

        if not self._digests:  # no number and no name in a text begins with @
            sizes = {SIZE + name for name in self.sets}
            for name, declared in self.declared.items():
                if name not in sizes:
                    self._digests[name] = "@" + digest(printed([name, *declared, self.next.get(name, "")], {}))
            for name, one in self.defined.items():
                # what an action is made of has the same text whatever it is called: a guard, a bound, another guard
                is_action = self._kinds.get(name, ("",))[0] == "action"
                parts = self.parts(name.removeprefix("action: "), *PARTS) if is_action else []
                said = [one.places(), one.sort, one.body, *(f":{part}" for part in parts)]
                self._digests[name] = "@" + digest(printed(said, self._digests))
                if name in self.sets:  # the size is declared after its set, and is asked for later still
                    size = [SIZE + name, *self.declared[SIZE + name], name]
                    self._digests[SIZE + name] = "@" + digest(printed(size, self._digests))
        return digest(" ".join(self._digests[name] for name in names))
