"""A changed line that no process of a build has run is named, and nothing else is."""

import subprocess
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.coverage.noted import Noted, UnrunMethod
from kraftcheck.ci.conformance.kafka.drivers import CHECKS, DriverProcess
from kraftcheck.ci.conformance.kafka.jars import jars, program
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.conformance.released import BUILDER, NEWEST, changed

OWNER = f"org.apache.kafka.controller.{BUILDER}"


def unrun(path: Path, notes: Path) -> tuple[UnrunMethod, ...]:
    """The methods of a changed class that have not run, as far as the notes say."""
    return Noted.of(notes, [OWNER]).unrun(f"{path}:{jars(NEWEST)}", jars(NEWEST))


@pytest.mark.xdist_group("kafka")
def test_a_changed_line_that_has_not_run_is_named(tmp_path: Path) -> None:
    """One instruction is another: its method is named with the line of that instruction, as long as nothing ran."""
    (found,) = unrun(changed(tmp_path, "101"), tmp_path)
    assert (found.owner, len(found.lines)) == (OWNER, 1)
    assert str(found) == f"{BUILDER}.{found.name} (line {found.lines[0]})"


@pytest.mark.xdist_group("kafka")
def test_a_class_of_which_code_differs_is_told(tmp_path: Path) -> None:
    """A changed class does another thing than the released one; the released one does not."""
    for path, told in ((changed(tmp_path, "101"), [OWNER]), (Path(jars(NEWEST).split(":")[0]), [])):
        assert Noted.of(tmp_path, [OWNER]).differing(f"{path}:{jars(NEWEST)}", jars(NEWEST)) == told


def test_a_class_as_released_has_nothing_to_run(tmp_path: Path) -> None:
    """Of a class whose bytes are those of the release no method is named, though none has run."""
    assert unrun(Path(jars(NEWEST).split(":")[0]), tmp_path) == ()


CLASSES = """
class Parent { void told() { } }
class Heir extends Parent { void told() { System.out.println(1); } private void own() { } }
class Threads { volatile int epoch; static final int MOST = 5; synchronized int next() { return 1; } }
enum Kind { ADD, REMOVE, KEEP }
class Switch { int of(Kind kind) { switch (kind) { case ADD: return 1; case REMOVE: return 2; default: return 3; } } }
class Lambdas { Runnable one() { return () -> System.gc(); } Runnable two() { return () -> Thread.yield(); } }
class Gone { void said() { } }
class Same { int one() { Runnable same = () -> System.gc(); return 1; } }
"""
"""Classes of a release: a file of its own."""


def compiled(folder: Path, text: str) -> Path:
    """A folder with classes."""
    folder.mkdir()
    (folder / "All.java").write_text(text)
    subprocess.run([program("javac"), "-d", str(folder), str(folder / "All.java")], check=True)
    return folder


@pytest.mark.xdist_group("kafka")
def test_what_no_line_shows_is_named(tmp_path: Path) -> None:
    """What is gone, what threads see, who inherits, the labels of a switch and the places of lambdas: each is named."""
    changes = {
        " void told() { System.out.println(1); } private void own() { }": "", "volatile ": "", "synchronized ": "",
        "case ADD: return 1; case REMOVE: return 2;": "case REMOVE: return 1; case ADD: return 2;",
        "System.gc(); } Runnable two() { return () -> Thread.yield()":
            "Thread.yield(); } Runnable two() { return () -> System.gc()",
        "MOST = 5": "MOST = 6", "class Gone { void said() { } }": "", "class Switch {": "class Switch extends Parent {",
    }  # fmt: skip
    text = CLASSES
    for old, new in changes.items():
        text = text.replace(old, new)
    release, build = compiled(tmp_path / "release", CLASSES), compiled(tmp_path / "build", text)
    names = [path.stem for path in release.glob("*.class")]
    found = [str(one) for one in Noted.of(tmp_path, names).unrun(str(build), str(release))]
    assert {one.partition(" ")[0] for one in found} == {
        "Gone", "Heir.told", "Heir.own", "Threads.epoch", "Threads.MOST", "Threads.next", "Switch.parents",
        "Switch.<init>", "Switch$1.<clinit>", "Lambdas.one", "Lambdas.two", "Lambdas.lambda$one$0",
        "Lambdas.lambda$two$1"}  # fmt: skip
    assert {"Gone (gone)", "Heir.told (gone 3)", "Heir.own (gone 3)"} <= {*found}
    assert Noted.of(tmp_path, names).unrun(str(release), str(release)) == ()


@pytest.mark.xdist_group("kafka")
def test_a_local_variable_is_known_by_what_it_holds(tmp_path: Path) -> None:
    """A variable more moves others to other slots, and they are the same; where another is read it is named."""
    text = "class Slots { static int of(int n) { int a = n + 1;\nint b = a * 3;\nwhile (b > 9) b -= 2;\nreturn a; } }"
    release, notes = compiled(tmp_path / "release", text), Noted.of(tmp_path, ["Slots"])
    for number, (old, new, told) in enumerate((
        ("int a = n + 1;", "int c = 5; int a = n + 1;", ["Slots.of (line 1)"]),
        ("return a;", "return b;", ["Slots.of (line 4)", "Slots.of (gone 4)"]),
        ("b -= 2;", "a -= 2;", ["Slots.of (line 3)", "Slots.of (gone 3)"]),
    )):  # fmt: skip
        build = compiled(tmp_path / str(number), text.replace(old, new))
        found = {str(one) for one in notes.unrun(str(build), str(release))}
        assert told[0] in found
        assert found <= {*told}


@pytest.mark.parametrize(("value", "told"), [("n < 2 ? n : 7", ["Half.of (line 1 in part)"]), ("7", []),
                                             ("Math.min(n, n > 7 ? n : n)", ["Half.of (line 1 in part)"])])  # fmt: skip
@pytest.mark.xdist_group("kafka")
def test_a_line_that_has_run_in_part_is_named(value: str, told: list[str], tmp_path: Path) -> None:
    """Of a changed line that gives one of two values, or asks what is always so, a part has not run; it is named."""
    method = f"static int of(int n) {{ return {value}; }}"
    text = f"class Half {{ {method} public static void main(String[] a) {{ of(1); }} }}"
    release, build = compiled(tmp_path / "release", text), compiled(tmp_path / "build", text.replace("7", "8"))
    notes = Noted.of(tmp_path, ["Half"])
    for path in (release, build):
        subprocess.run([program("java"), *notes.options(), "-cp", str(path), "Half"], check=True)
    assert [str(one) for one in notes.unrun(str(build), str(release))] == told


@pytest.mark.xdist_group("kafka")
def test_a_process_that_loads_a_class_has_not_run_it(tmp_path: Path) -> None:
    """The notes of a process that is asked nothing name each changed method still."""
    path = changed(tmp_path, "101")
    build, notes = Build.of(str(path), NEWEST), Noted.of(tmp_path, [OWNER])
    with DriverProcess(Build(build.like, build.first, build.name, notes), CHECKS, ("change", "2", "latest")):
        pass
    assert (tmp_path / "ran.exec").exists()
    assert unrun(path, tmp_path) == unrun(path, tmp_path / "none")


@pytest.mark.xdist_group("kafka")
def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A jar that is none is one line with its reason, and no list of what has run."""
    (tmp_path / "a.jar").write_text("no jar")
    with pytest.raises(Refusal, match=r"what has run of the changed classes cannot be told: .*ZipException"):
        unrun(tmp_path / "a.jar", tmp_path)
    cut = next(changed(tmp_path, "101").rglob("*.class"))
    cut.write_bytes(cut.read_bytes()[:5000])
    with pytest.raises(Refusal, match=rf"{OWNER} cannot be read, as a class file that is cut off .*; build it anew"):
        unrun(tmp_path / "101", tmp_path)


@pytest.mark.parametrize("odd", [",", "=", ":"])
def test_a_folder_that_an_option_cannot_name_is_refused(odd: str, tmp_path: Path) -> None:
    """A comma ends an option of the agent, a colon an entry of a class path: one line says what to set."""
    with pytest.raises(Refusal, match=f"a{odd}b has '{odd}' in its name; set TMPDIR to another folder"):
        Noted.of(tmp_path / f"a{odd}b" / "notes", [OWNER])
