"""Classes that do not fit each other: each error of linking is found before a class is asked."""

import subprocess
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.kafka.coverage.links import misfits
from kraftcheck.ci.conformance.kafka.fuzz.model import Request
from kraftcheck.ci.conformance.kafka.fuzz.requests import Plan
from kraftcheck.ci.conformance.kafka.fuzz.run import Exchange, Played
from kraftcheck.ci.terminal.refusal import Refusal

OWNERS = {
    "Method": ("public class Method { public int m(int x) { return x; } }", "public class Method { }"),
    "Kept": ("public class Kept { public int m(int x) { return x; } }",
             "public class Kept extends Base { void more() { } }"),
    "Base": ("public class Base { }", "public class Base { public int m(int x) { return x; } }"),
    "Field": ("public class Field { public int f; }", "public class Field { public long f; }"),
    "Hidden": ("public class Hidden { public int m(int x) { return x; } }",
               "public class Hidden { private int m(int x) { return x; } }"),
    "Kind": ("public class Kind { public int m(int x) { return x; } }", "public interface Kind { int m(int x); }"),
    "Closed": ("public class Closed { }", "public final class Closed { }"),
    "Wider": ("public interface Wider { void go(); }", "public interface Wider { void go(); void stop(String[] w); }"),
    "Gone": ("public class Gone { }", ""),
    "Cut": ("public class Cut { }", "public class Cut { }"),
    "Broken": ("public class Broken { public int m(int x) { return x; } }",
               "public class Broken { public int m(int x) { return x; } /* spoilt below */ }"),
}  # fmt: skip
"""Classes by name, in the release and in the build."""

USERS = """public class User {
    int all(Method a, Field b, Hidden c, Kind d, Kept e, Broken f) {
        return a.m(1) + b.f + c.m(1) + d.m(1) + e.m(1) + f.m(1) + new Gone().hashCode() + new Optional().hashCode();
    }
    static class Inner extends Closed { }
    static class Deaf implements Wider { public void go() { } }
}"""


def compiled(folder: Path, texts: dict[str, str], beside: Path) -> Path:
    """A folder of classes of Kafka's."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name}.java").write_text(f"package org.apache.kafka.toy; {text}")
    files = [str(folder / f"{name}.java") for name in texts]
    subprocess.run(["javac", "-cp", str(beside), "-d", str(folder), *files], check=True)
    return folder


@pytest.mark.xdist_group("kafka")
def test_each_error_of_linking_is_found(tmp_path: Path) -> None:
    """Members that are gone, closed or of another kind, and code that is none; not what is inherited or never was."""
    before = {name: text for name, (text, _) in OWNERS.items()}
    release = compiled(tmp_path / "release", {**before, "Optional": "class Optional { }", "User": USERS}, tmp_path)
    (release / "org/apache/kafka/toy/Optional.class").unlink()  # as of a library that a release does not need
    build = compiled(tmp_path / "build", {name: text for name, (_, text) in OWNERS.items() if text}, tmp_path)
    spoilt = build / "org/apache/kafka/toy/Broken.class"
    code = spoilt.read_bytes()
    assert code.count(b"\x1b\xac") == 1  # it loads a number, and returns it
    spoilt.write_bytes(code.replace(b"\x1b\xac", b"\x2b\xac"))
    cut = build / "org/apache/kafka/toy/Cut.class"
    cut.write_bytes(cut.read_bytes()[:40])
    for name in ("User", "User$Inner", "User$Deaf"):
        (build / f"org/apache/kafka/toy/{name}.class").write_bytes(
            (release / f"org/apache/kafka/toy/{name}.class").read_bytes()
        )
    toy = "org.apache.kafka.toy."
    found = misfits(str(build), str(release), frozenset(f"{toy}{name}" for name in OWNERS))
    heads = {text.partition(" (")[0].partition(", which")[0] for text in found}
    assert heads == {
        f"NoSuchMethodError: {toy}Method.m(int) of int", f"NoSuchFieldError: {toy}Field.f",
        f"IllegalAccessError: {toy}Hidden.m(int) of int", f"IncompatibleClassChangeError: {toy}Kind.m(int) of int",
        f"IncompatibleClassChangeError: {toy}User$Inner", f"AbstractMethodError: {toy}User$Deaf.stop(String[])",
        f"NoClassDefFoundError: {toy}Gone", f"VerifyError: {toy}Broken", f"ClassFormatError: {toy}Cut",
    }  # fmt: skip
    assert f"NoSuchMethodError: {toy}Method.m(int) of int, which User needs" in found
    assert misfits(str(release), str(release), frozenset(f"{toy}{name}" for name in OWNERS)) == ()


def test_an_error_of_the_machine_is_no_answer() -> None:
    """Where an answer is an error of linking all the same, nothing is compared: that is a refusal."""

    class Told:
        build = "mine"

        def answers(self, count: int) -> list[str]:
            return ["ok 1", "resign#java.lang.NoSuchMethodError: 'void A.b()'"][:count]

    asked = [Exchange(number, Request("wait"), "ok 1") for number in range(2)]
    played = Played(Plan((), ()), "begin", asked)
    with pytest.raises(Refusal, match=r"classes of Kafka mine do not fit each other: NoSuchMethodError: 'void A"):
        played.answered(Told())  # type: ignore[arg-type]
