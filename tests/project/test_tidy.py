"""The style of the project as tests: layers, effects, lengths, docstrings. Each rule lists all who offend it."""

import ast
import functools
import io
import re
import textwrap
import tokenize
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.shared.places import ROOT

LAYERS = ("model", "properties", "solvers", "ci")  # each layer imports itself and those before it

pytestmark = pytest.mark.xdist_group("sources")  # so that each file is read once

SOURCES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
EVERY = SOURCES + TESTS

MODULE_LINES, TEST_LINES, FUNCTION_LINES, FOLDER_ENTRIES, PARAMETERS = 600, 600, 50, 20, 8

PURE = frozenset({
    "__future__", "attrs", "base64", "binascii", "collections", "dataclasses", "difflib", "enum", "functools",
    "itertools", "math", "re", "types", "typing", "unicodedata", "uuid",
})  # fmt: skip
"""What `model` and `properties` may import besides each other: nothing that has effects."""

BESIDES = {"model/language/symbolic.py": {"sys"}, "properties/catalogue.py": {"importlib"},
           "model/register.py": {"pkgutil", "tomllib"}}  # fmt: skip
"""The error of a rule names its line, from the call stack; the catalogue imports a system when it is asked for; the
register is TOML beside its modules."""

EXPORTS = frozenset({"ci/conformance/vectors/__init__.py"})  # packages whose `__init__` exports names

EFFECTS_OF_CI = ("print", "open", "input")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    """A path as offenders are listed."""
    return str(path.relative_to(ROOT))


def layer_of(path: Path) -> str:
    """The layer of a source file."""
    return path.relative_to(ROOT).parts[0]


def module_of(path: Path) -> str:
    """The import name of a source file."""
    parts = ("kraftcheck", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports_of(path: Path) -> frozenset[str]:
    """Every module that a file imports, at the top or inside functions."""
    modules: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno} imports relatively"
            base = node.module or ""
            modules |= {f"{base}.{a.name}" if f"{base}.{a.name}" in MODULES else base for a in node.names}
    return frozenset(modules)


MODULES = {module_of(path): path for path in SOURCES}


def functions_of(tree: ast.Module) -> Iterator[Function]:
    """Every function and method."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def test_imports_go_one_way() -> None:
    """`ci` imports `solvers`, which imports `properties`, which imports `model`; never the other way, and no test."""
    offenders = []
    for path in SOURCES:
        allowed = {f"kraftcheck.{layer}" for layer in LAYERS[: LAYERS.index(layer_of(path)) + 1]}
        ours = {name for name in imports_of(path) if name.split(".")[0] in ("kraftcheck", "tests", *LAYERS)}
        offenders += [f"{name_of(path)}: {n}" for n in ours if ".".join(n.split(".")[:2]) not in allowed]
    assert offenders == []


def test_tests_import_by_the_full_name() -> None:
    """A test imports `kraftcheck.model`, never `model`: two copies of one module are two identities."""
    assert [f"{name_of(p)}: {n}" for p in TESTS for n in imports_of(p) if n.split(".")[0] in LAYERS] == []


def test_no_module_imports_itself_through_others() -> None:
    """The modules can be ordered so that each imports only earlier ones."""
    waiting = {name: {n for n in imports_of(path) if n in MODULES and n != name} for name, path in MODULES.items()}
    while waiting:
        ready = {name for name, needed in waiting.items() if not needed & waiting.keys()}
        assert ready, f"import circle among {sorted(waiting)}"
        waiting = {name: needed for name, needed in waiting.items() if name not in ready}


def room_of(path: Path) -> str:
    """The room of a source file: its folder below the floor, or the file itself where it stands on the floor."""
    return "/".join(path.relative_to(ROOT).with_suffix("").parts[:2])


def test_rooms_form_no_circle() -> None:
    """The rooms of a floor can be ordered so that each imports only earlier ones."""
    needed: dict[str, set[str]] = {}
    for path in SOURCES:
        places = (MODULES[name] for name in imports_of(path) if name in MODULES)
        rooms = {room_of(place) for place in places if layer_of(place) == layer_of(path)}
        needed.setdefault(room_of(path), set()).update(rooms - {room_of(path)})
    while needed:
        ready = {room for room, others in needed.items() if not others & needed.keys()}
        assert ready, f"import circle among the rooms {sorted(needed)}"
        needed = {room: others for room, others in needed.items() if room not in ready}


def test_rules_are_pure() -> None:
    """`model` and `properties` import nothing with effects; some files are named with what they need."""
    offenders = []
    for path in (p for p in SOURCES if layer_of(p) in LAYERS[:2]):
        allowed = PURE | {"kraftcheck"} | BESIDES.get(name_of(path), set())
        offenders += [f"{name_of(path)}: {n}" for n in imports_of(path) if n.split(".")[0] not in allowed]
    assert offenders == []


def test_the_model_and_its_register_name_no_tests() -> None:
    """Nothing in `model` and `properties`, data included, names a test or a file of tests."""
    files = [path for layer in LAYERS[:2] for end in ("py", "toml") for path in (ROOT / layer).rglob(f"*.{end}")]
    named = re.compile(r"\btests/\w|\btest_[a-z]")
    assert [name_of(path) for path in files if named.search(path.read_text(encoding="utf-8"))] == []
    assert len([path for path in files if path.suffix == ".toml"]) > 20


def calls_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Plain and dotted calls by name, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func), node.lineno


def test_only_ci_prints_and_reads_the_clock() -> None:
    """Below `ci` nothing prints, opens by name, or asks the time: clocks are arguments."""
    dotted = re.compile(r"^(time\.|datetime\.|sys\.std|random\.|os\.environ)")
    offenders = []
    for path in (p for p in SOURCES if layer_of(p) != "ci"):
        calls = calls_of(tree_of(path))
        offenders += [f"{name_of(path)}:{line} {c}" for c, line in calls if c in EFFECTS_OF_CI or dotted.match(c)]
        banned = imports_of(path) & {"time", "datetime", "random", "logging", "argparse", "click", "rich"}
        offenders += [f"{name_of(path)}: {name}" for name in banned]
    assert offenders == []


def test_files_fit() -> None:
    """A file has at most 600 lines."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in EVERY}
    limits = {path: TEST_LINES if path in TESTS else MODULE_LINES for path in EVERY}
    assert {name_of(path): length for path, length in lengths.items() if length > limits[path]} == {}


def test_folders_fit() -> None:
    """A folder of code has at most 20 entries."""
    folders = {path.parent for path in EVERY}
    entries = {name_of(f): sum(e.name != "__pycache__" for e in f.iterdir()) for f in folders}
    assert {name: count for name, count in entries.items() if count > FOLDER_ENTRIES} == {}


def test_functions_fit_a_screen() -> None:
    """A function has at most 50 lines."""
    lengths = {
        f"{name_of(path)}: {f.name}": (f.end_lineno or 0) - f.lineno + 1
        for path in SOURCES
        for f in functions_of(tree_of(path))
    }
    assert {name: length for name, length in lengths.items() if length > FUNCTION_LINES} == {}


BY_NAME = {"ci.interface.engines.explore", "ci.interface.engines.simulate", "ci.interface.engines.prove",
           "ci.testing.judging.of", "properties.kinds.always"}  # fmt: skip
"""Functions that users call with as many named arguments as the question has; the list only shrinks."""


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The parameters of a function, but for the object or class that it belongs to."""
    listed = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    return listed[listed[:1] in (["self"], ["cls"]) :]


def test_functions_have_at_most_eight_parameters() -> None:
    """More are a record's fields, or named arguments of what users call."""
    many = {
        f"{module_of(path)}.{f.name}".removeprefix("kraftcheck.")
        for path in SOURCES
        for f in functions_of(tree_of(path))
        if len(parameters_of(f)) > PARAMETERS
    }
    assert many == BY_NAME


def undocumented(node: ast.Module | ast.ClassDef, where: str) -> Iterator[str]:
    """Public definitions without a docstring, in a module or class."""
    for item in node.body:
        if not isinstance(item, Function | ast.ClassDef) or item.name.startswith("_"):
            continue
        overloaded = any(ast.unparse(d).endswith("overload") for d in item.decorator_list)
        if ast.get_docstring(item) is None and not overloaded:
            yield f"{where}.{item.name}"
        if isinstance(item, ast.ClassDef):
            yield from undocumented(item, f"{where}.{item.name}")


def test_public_names_are_documented() -> None:
    """Modules and their public classes, functions and methods have docstrings."""
    assert [name_of(path) for path in EVERY if not ast.get_docstring(tree_of(path))] == []
    assert [name for path in SOURCES for name in undocumented(tree_of(path), module_of(path))] == []


EXPECTING = ("pytest.raises", "pytest.warns", "pytest.fail", "expect")
"""Calls that fail by themselves: pytest's, and Playwright's `expect(...)`."""

ASSERTING = ("assert_outcomes", "assert_holds", "assert_refuted")
"""Methods that fail by themselves: of pytest's own results, and of the package's."""


@functools.cache
def helpers_of(path: Path) -> Mapping[str, tuple[Path, Function]]:
    """The functions of the tests that a file may call, by the name that it calls them by."""
    found = {f.name: (path, f) for f in tree_of(path).body if isinstance(f, Function)}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tests":
            folder = ROOT / (node.module or "").replace(".", "/")
            for name in node.names:
                called, own = name.asname or name.name, folder / f"{name.name}.py"
                place = own if own.exists() else folder.with_suffix(".py")
                defined = [f for f in tree_of(place).body if isinstance(f, Function)] if place.exists() else []
                found |= {f"{called}.{f.name}" if place == own else f.name: (place, f) for f in defined}
    return found


def asserts(test: Function, path: Path, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a function of the tests can fail: it asserts something that may differ, or calls one that does.

    A name alone is no assertion: a call counts where the function that it names, here or in another file of the tests,
    can fail itself; or raises, where it is no test.
    """
    for node in ast.walk(test):
        if isinstance(node, ast.Assert) and any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(node.test)):
            return True
        if isinstance(node, ast.Raise) and not test.name.startswith("test_"):
            return True
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in EXPECTING or name.rpartition(".")[2] in ASSERTING:
                return True
            place, helper = helpers_of(path).get(name, (path, None))
            if helper is not None and name not in seen and asserts(helper, place, seen | {name}):
                return True
    return False


def test_a_call_of_a_checker_is_an_assertion_where_it_can_fail(tmp_path: Path) -> None:
    """A helper by the name of `check` counts only if it asserts; of the package's functions none does by its name."""
    source = """
        from kraftcheck.ci.terminal.files import check_local
        from tests.shared.explored import agree_with_ints
        def check(found): return found
        def check_more(found): check_again(found)
        def check_again(found): assert found
        def test_nothing(found): check(found)
        def test_much(found): check_more(found)
        def test_ints(found): agree_with_ints(found, [])
        def test_package(found): check_local(found)
        def test_truth(): assert True
        def test_raise(): raise AssertionError
    """
    path = tmp_path / "test_made_up.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    tests = [f for f in functions_of(tree_of(path)) if f.name.startswith("test_")]
    assert [f.name for f in tests if asserts(f, path)] == ["test_much", "test_ints"]


def test_tests_state_a_fact_and_assert_it() -> None:
    """Every test function has a docstring and an assertion, and no name is used twice in a file."""
    offenders = []
    for path in (p for p in TESTS if p.name.startswith("test_")):
        tests = [f for f in functions_of(tree_of(path)) if f.name.startswith("test_")]
        names = [f.name for f in tests]
        offenders += [f"{name_of(path)}: {f.name} says nothing" for f in tests if not ast.get_docstring(f)]
        offenders += [f"{name_of(path)}: {f.name} cannot fail" for f in tests if not asserts(f, path)]
        offenders += [f"{name_of(path)}: {n} twice" for n in set(names) if names.count(n) > 1]
    assert offenders == []


def comments_of(path: Path) -> Iterator[tuple[int, str]]:
    """The comments of a file with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_no_loose_ends() -> None:
    """No leftover notes to self, no ignored type error without its code, no blanket noqa, no bare except."""
    loose = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b|type: ignore(?!\[)|noqa(?!: ?[A-Z])")
    offenders = []
    for path in EVERY:
        offenders += [f"{name_of(path)}:{line} {text}" for line, text in comments_of(path) if loose.search(text)]
        handlers = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ExceptHandler))
        offenders += [f"{name_of(path)}:{h.lineno} bare except" for h in handlers if h.type is None]
    assert offenders == []


def test_packages_hold_no_code() -> None:
    """An `__init__` file says what its package is, and imports nothing that others could import from it."""
    inits = [path for path in SOURCES if path.name == "__init__.py" and name_of(path) not in EXPORTS]
    imports = {name_of(path): imports_of(path) - {"__future__"} for path in inits}
    assert {name: modules for name, modules in imports.items() if modules} == {}
    folders = {path.parent for path in EVERY}
    assert [name_of(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_dependency_says_why() -> None:
    """Each dependency in pyproject.toml has a comment on its line."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    listed = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    silent = [d for d in listed if not re.search(rf'"{re.escape(d)}",?\s+# \w+', text)]
    assert listed
    assert silent == []


def test_every_layer_is_linked() -> None:
    """The package `kraftcheck` holds a link to each layer, and nothing else that is a folder."""
    folders = {entry.name: entry for entry in (ROOT / "kraftcheck").iterdir() if entry.is_dir()}
    folders.pop("__pycache__", None)
    assert set(folders) == set(LAYERS)
    assert all(folders[layer].is_symlink() and folders[layer].resolve() == ROOT / layer for layer in LAYERS)
