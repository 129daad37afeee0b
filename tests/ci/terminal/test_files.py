"""Files and folders of results appear whole or not at all; what cannot be written is refused before any work."""

import contextlib
import errno
import json
import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from kraftcheck.ci.run.result import REPORT
from kraftcheck.ci.terminal import files as under_test
from kraftcheck.ci.terminal.files import (
    JSON_WIDTH,
    MARK,
    WRITTEN,
    check_local,
    check_results,
    check_writable,
    folder,
    local_path,
    read_json,
    results,
    write,
    write_json,
)
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.captures import ELR
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT


def test_a_file_appears_whole(tmp_path: Path) -> None:
    """A written file holds the text, replaces the old one, and nothing lies beside it."""
    path = tmp_path / "told.txt"
    write(path, "one")
    write(path, "zwei ü")
    assert path.read_text(encoding="utf-8") == "zwei ü"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    """A text that cannot be encoded leaves the old file and no temporary one."""
    path = tmp_path / "told.txt"
    write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write(path, "half \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    """Others may read a document as the umask says, although temporary files are private."""
    before = os.umask(0o027)
    try:
        write(tmp_path / "told.txt", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "told.txt").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Writing to a link writes the file that it leads to."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    """A named pipe (as a device) takes the text; it does not become a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_unwritable_places_are_one_line(tmp_path: Path) -> None:
    """A missing folder or a folder in the place of a file is a refusal that names the path."""
    for path in (tmp_path / "no" / "file", tmp_path):
        with pytest.raises(Refusal, match="cannot write") as caught:
            write(path, "text")
        assert str(path) in caught.value.message
        with pytest.raises(Refusal, match="cannot write"):
            check_writable(str(path))
    assert list(tmp_path.iterdir()) == []


def test_writable_places_pass(tmp_path: Path) -> None:
    """A new file, an old one, a device, standard output and no file at all pass, and nothing is made."""
    (tmp_path / "old").write_text("old")
    for target in (str(tmp_path / "new"), str(tmp_path / "old"), os.devnull, "-", None):
        check_writable(target)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_protected_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without permission to write is refused before work begins."""

    def refuse(**_: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(Refusal, match=r"(?i)permission denied"):
        check_writable(str(tmp_path / "new"))
    with pytest.raises(Refusal, match=r"(?i)permission denied"):
        folder(tmp_path)


def test_folders_are_made(tmp_path: Path) -> None:
    """A folder is made with those above it; a file in its place is a refusal."""
    assert folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match="cannot make the folder"):
        folder(tmp_path / "file" / "b")


def test_json_goes_to_standard_output_for_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    """A document for `-` is printed, and ends with a line break; lines are short, and nothing is lost between them."""
    write_json("-", {"a": [1]})
    assert capsys.readouterr().out == '{"a": [1]}\n'
    document = {"a": [{"b": ["c" * 30] * 9, "d": None}, []], "e": {"f": {}, "g": [*range(99)]}, 'h"': "i" * 150}
    write_json("-", document)
    text = capsys.readouterr().out
    assert json.loads(text) == document
    assert [len(line) > JSON_WIDTH for line in text.splitlines()].count(True) == 1, "the text that is longer itself"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{\n 1", "line 2: not JSON"),
        (b"\xff", "not UTF-8"),
        (b"", "line 1: not JSON"),
        (b"[" * 100_000, "not usable JSON"),
        (b"1" * 5000, "not usable JSON"),
        (b'{"a": {"b": 1, "b": 2}}', "key 'b' is repeated in one object"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b"[-Infinity]", "-Infinity is no JSON number"),
        (b"[" * 200 + b"]" * 200, "nested deeper than 100 levels"),
    ],
)
def test_malformed_json_is_one_line(content: bytes, told: str, tmp_path: Path) -> None:
    """What is no JSON is a refusal that names file and line."""
    path = tmp_path / "told.json"
    path.write_bytes(content)
    with pytest.raises(Refusal, match=told) as caught:
        read_json(path)
    assert caught.value.message.startswith(str(path))


def test_the_deepest_document_is_read(tmp_path: Path) -> None:
    """A hundred levels are read, one more is not."""
    path = tmp_path / "deep.json"
    path.write_text("[" * 100 + "]" * 100)
    assert isinstance(read_json(path), list)
    path.write_text("[" * 101 + "]" * 101)
    with pytest.raises(Refusal, match="nested deeper"):
        read_json(path)


@pytest.fixture
def endless(tmp_path: Path) -> dict[str, Path]:
    """What never ends, or never begins, to be read."""
    os.mkfifo(tmp_path / "fifo")
    with contextlib.chdir(tmp_path), socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")  # a socket's whole path may have 107 characters
    return {"device": Path("/dev/zero"), "fifo": tmp_path / "fifo", "socket": tmp_path / "s"}


READERS = [
    "trace {}", "simulate tests.toys:CLOCK --from {}", "conform --vectors {}",
    "replay {}", "status {}", "whatif {}",
    "unclean-recovery --snapshot {} --all-offline-partitions --show-replica-info",
    "unclean-recovery --snapshot tests/snapshots/outage.json --path-to-json-file {} --show-replica-info",
    "elect-leaders --snapshot {} --election-type UNCLEAN --all-topic-partitions --dry-run",
    "elect-leaders --snapshot tests/snapshots/outage.json --election-type DESIGNATED --path-to-json-file {}",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["device", "fifo", "socket"])
@pytest.mark.parametrize("words", READERS)
def test_only_regular_files_are_read(words: str, kind: str, endless: dict[str, Path]) -> None:
    """Each command that reads a file refuses a device, a pipe and a socket in one line, and waits for none."""
    told = kraftcheck(*words.format(endless[kind]).split()).refusal()
    assert told == (
        f"cannot read {endless[kind]}: it is a pipe or a device; save what it holds to a file, and name that"
    )


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    """A file above the limit is not read; the message names its size and the limit."""
    path = tmp_path / "large.json"
    path.touch()
    os.truncate(path, (256 << 20) + (5 << 20))
    told = "it has 261 MB, and 256 MB are the most that is read of such a file"
    assert kraftcheck("trace", path).refusal() == f"cannot read {path}: {told}"
    log = tmp_path / "00000000000000000000.log"
    log.touch()
    os.truncate(log, 5 << 30)
    assert "it has 5,120 MB, and 4,096 MB are the most" in kraftcheck("replay", log).refusal()


@pytest.mark.parametrize("text", [r'"\ud800"', r'{"a": ["\uDFFF"]}', r'{"\udc00": 1}'])
def test_half_a_character_is_refused(tmp_path: Path, text: str) -> None:
    """A lone surrogate in a value or a key is refused with the file; a pair of them is a character."""
    path = tmp_path / "half.json"
    path.write_text(text)
    with pytest.raises(Refusal, match=r"half\.json: .*surrogate"):
        read_json(path)
    path.write_text(r'"\ud83d\ude00"')
    assert read_json(path) == "\N{GRINNING FACE}"


TOY = ("explore", "tests.toys:DIGRAPH", "--quiet", "--traces", 0)


def names(folder: Path) -> list[str]:
    """What is in a folder, hidden or not."""
    return sorted(path.name for path in folder.iterdir())


def run(place: Path, *written: str) -> None:
    """A run that writes these files."""
    with results("--out", place) as made:
        for name in written:
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_text(name)


def test_a_second_run_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    """The folder holds exactly the last run's files, below folders too, and nothing is left beside it."""
    place = tmp_path / "deep" / "out"
    run(place, "a", "b/c")
    assert names(place) == [MARK, "a", "b"]
    run(place, "d")
    assert names(place) == [MARK, "d"]
    run(place)
    assert names(place) == [MARK]
    assert names(place.parent) == ["out"]


def test_counterexamples_are_of_this_run(tmp_path: Path) -> None:
    """A run that judges another property replaces the counterexamples of the run before."""
    for claim in ("never-5", "never-4-to-5"):
        assert kraftcheck(*TOY, "--property", claim, "--out", tmp_path / "out").code == 12
        assert names(tmp_path / "out") == [MARK, f"{claim}.itf.json", REPORT]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Refusal("no"), OSError(28, "No space left on device")])
def test_a_failure_leaves_the_old_results(error: BaseException, tmp_path: Path) -> None:
    """Whatever ends a run while it writes, the results before it stay whole, and nothing is left beside them."""
    place = tmp_path / "out"
    run(place, "old")

    def fail() -> None:
        with results("--out", place) as made:
            (made / "half").write_text("half")
            raise error

    with pytest.raises((KeyboardInterrupt, Refusal)):
        fail()
    assert names(place) == [MARK, "old"]
    assert names(tmp_path) == ["out"]


def test_a_failure_between_the_two_renames_gives_the_old_results_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the new folder cannot take the place of the old one, the old one is put back."""
    place = tmp_path / "out"
    run(place, "old")
    replace, done = os.replace, list[str]()

    def second_fails(source: Path, target: Path) -> None:
        done.append(str(target))
        if len(done) == 2:
            raise KeyboardInterrupt
        replace(source, target)

    def renamed() -> None:
        with results("--out", place) as made:
            (made / "new").write_text("new")
            monkeypatch.setattr(under_test, "write", lambda path, text: path.write_text(text))
            monkeypatch.setattr(os, "replace", second_fails)

    with pytest.raises(KeyboardInterrupt):
        renamed()
    assert len(done) == 3
    assert names(place) == [MARK, "old"]
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("existing", [["notes.txt"], [MARK, "notes.txt"], ["a.itf.json"], [".git/config"]])
def test_foreign_files_are_never_touched(existing: list[str], tmp_path: Path) -> None:
    """A folder with a file that no run wrote there is refused before any work, and stays as it is."""
    for name in existing:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    told = kraftcheck(*TOY, "--out", tmp_path).refusal()
    assert told.endswith("which no run of kraftcheck wrote there; choose another --out")
    assert [(tmp_path / name).read_text() for name in existing] == ["mine"] * len(existing)


def test_a_file_put_into_the_results_protects_them(tmp_path: Path) -> None:
    """What a user adds to a folder of results, even during the run, is not deleted with them."""
    run(tmp_path / "out", "old")

    def overtaken() -> None:
        with results("--out", tmp_path / "out"):
            (tmp_path / "out" / "notes.txt").write_text("mine")

    with pytest.raises(Refusal, match=r"it holds notes\.txt, which no run of kraftcheck wrote"):
        overtaken()
    assert names(tmp_path / "out") == [MARK, "notes.txt", "old"]
    assert names(tmp_path) == ["out"]


def test_a_link_to_results_stays_a_link(tmp_path: Path) -> None:
    """The folder that a link leads to is replaced, and not the link."""
    run(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to("real")
    run(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == [MARK, "new"]


def test_the_current_folder_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder and those above it are refused, although they are empty otherwise."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for place in (".", "..", tmp_path):
        assert "it is the current folder or above it" in kraftcheck(*TOY, "--out", place).refusal()
    assert names(tmp_path) == ["here"]


def test_other_results_do_not_go_into_the_folder(tmp_path: Path) -> None:
    """A document or picture in the folder that is replaced would make it foreign; it is refused before any work."""
    out = tmp_path / "out"
    out.mkdir()
    told = kraftcheck(*TOY, "--out", out, "--json", out / "told.json").refusal()
    assert "lies in the folder of --out, which this run replaces" in told
    with pytest.raises(Refusal, match=r"curve\.svg lies in the folder of --out"):
        check_results("--out", out, "-", None, out / "curve.svg")


COMMANDS = [
    "explore tests.toys:CLOCK --out", "explore tests.toys:CLOCK --engine spark --out", "check elections --out",
    "simulate tests.toys:CLOCK --out", "prove elections --scope tiny --smt2",
    "prove tests.toys:CLOCK --certificate",
    "trace tests/traces/B4.itf.json --export junit --out",
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_refuses_foreign_folders_and_none(words: str, tmp_path: Path) -> None:
    """An empty name, and a folder of other files, are refused by each command that writes a folder, before any work."""
    (tmp_path / "thesis.tex").write_text("years")
    option = words.split()[-1]
    assert kraftcheck(*words.split(), "").refusal() == f"{option} is empty; give a value, or leave it out"
    told = kraftcheck(*words.split(), tmp_path).refusal()
    assert "holds thesis.tex" in told
    assert told.endswith(f"; choose another {option}")
    assert names(tmp_path) == ["thesis.tex"]


PANICS = "tests.toys:PANICKER"
"""A system whose rules raise as soon as they are looked at: who refuses the place first has done nothing yet."""

WORDS = {
    "explore --out": ("explore", PANICS, "--out"),
    "explore --json": ("explore", PANICS, "--json"),
    "explore --junit": ("explore", PANICS, "--junit"),
    "explore --sarif": ("explore", PANICS, "--sarif"),
    "explore --engine disk --out": ("explore", PANICS, "--engine", "disk", "--out"),
    "explore --engine spark --out": ("explore", PANICS, "--engine", "spark", "--out"),
    "simulate --out": ("simulate", PANICS, "--out"),
    "simulate --json": ("simulate", PANICS, "--json"),
    "simulate --plot": ("simulate", PANICS, "--plot"),
    "prove --json": ("prove", PANICS, "--json"),
    "prove --junit": ("prove", PANICS, "--junit"),
    "prove --certificate": ("prove", PANICS, "--certificate"),
    "prove --smt2": ("prove", PANICS, "--smt2"),
    "prove --bmc --json": ("prove", PANICS, "--bmc", "3", "--json"),
    "check --out": ("check", "elections", "--out"),
    "check --json": ("check", "elections", "--json"),
    "check --junit": ("check", "elections", "--junit"),
    "bugs --json": ("bugs", "--json"),
    "explain --json": ("explain", PANICS, "--json"),
    "explain --markdown": ("explain", PANICS, "--markdown"),
    "explain --html": ("explain", PANICS, "--html"),
    "export --tla": ("export", PANICS, "--tla"),
    "replay --json": ("replay", ELR, "--json"),
    "replay --html": ("replay", ELR, "--html"),
    "replay --engine spark --out": ("replay", ELR, "--engine", "spark", "--out"),
    "status --json": ("status", ELR, "--json"),
    "whatif --json": ("whatif", ELR, "--json"),
    "whatif --prometheus": ("whatif", ELR, "--prometheus"),
    "conform --json": ("conform", "--vectors", ROOT / "tests" / "vectors", "--json"),
    "findings --json": ("findings", "--json"),
    "findings --run --out": ("findings", "--run", "--kafka", "4.4.0", "--out"),
    "where --json": ("where", "elr", "--json"),
    "list --json": ("list", "--json"),
}


def place_of(name: str, folder: str) -> str:
    """A name in a folder that suits the option."""
    return f"{folder}/" + {"export --tla": "Panicker.tla", "simulate --plot": "x.svg"}.get(name, "x")


@pytest.mark.parametrize("name", WORDS)
def test_a_folder_that_takes_no_files_is_refused_first(name: str) -> None:
    """/proc, where even root makes nothing: one line, and nothing was traced, explored or printed."""
    place = place_of(name, "/proc")
    assert place in kraftcheck(*WORDS[name], place).refusal()


@pytest.mark.parametrize("name", sorted({*WORDS} - {"simulate --plot"}))
def test_what_somebody_wrote_is_not_replaced(name: str, tmp_path: Path) -> None:
    """A source in the place of a file that a command shall write is refused before any work, and stays as it is."""
    place = tmp_path / ("Panicker.tla" if name == "export --tla" else "model.py")
    place.write_text("years of work")
    assert str(place) in kraftcheck(*WORDS[name], place).refusal()
    assert place.read_text() == "years of work"
    assert names(tmp_path) == [place.name]


SOURCES = ["a.tla", "a.cfg", "a.py", "a.als", "a.md", "a.TLA", "a.java", "a.toml", "a.org"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_replaced_where_a_run_wrote_it(name: str, tmp_path: Path) -> None:
    """A file of another kind than results is written anew where it bears the mark of a run, or is empty."""
    place = tmp_path / name
    place.write_text("mine")
    with pytest.raises(Refusal, match=r"kraftcheck did not write what is there; name another file, or remove that"):
        check_writable(str(place))
    for ours in ("", f"# {WRITTEN} of a system"):
        place.write_text(ours)
        check_writable(str(place))


def test_an_export_replaces_its_own_module_and_no_other(tmp_path: Path) -> None:
    """A second export writes both files anew; where one of them is somebody's, neither is touched."""
    module, configuration = tmp_path / "Clock.tla", tmp_path / "Clock.cfg"
    assert [kraftcheck("export", "tests.toys:CLOCK", "--tla", module).code for _ in range(2)] == [0, 0]
    written = module.read_text()
    configuration.write_text("INIT Mine")
    assert str(configuration) in kraftcheck("export", "tests.toys:CLOCK", "--tla", module, "--readable").refusal()
    assert (module.read_text(), configuration.read_text()) == (written, "INIT Mine")


@pytest.mark.parametrize("name", [name for name in WORDS if name.endswith(("--out", "--certificate", "--smt2"))])
def test_a_folder_below_one_that_takes_none_is_refused_first(name: str) -> None:
    """Folders that would have to be made are tried, too."""
    assert "/proc/x/y" in kraftcheck(*WORDS[name], "/proc/x/y").refusal()


@pytest.mark.parametrize("name", ["explore --out", "explore --json", "prove --certificate", "explain --html"])
def test_a_name_that_is_too_long_is_refused_first(name: str, tmp_path: Path) -> None:
    """A file system with room for names of 255 bytes has none for a longer one; nothing is left behind."""
    place = tmp_path / ("x" * 300)
    assert "name too long" in kraftcheck(*WORDS[name], place).refusal()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["explore --out", "explore --json", "simulate --out"])
def test_a_look_leaves_nothing_behind(name: str, tmp_path: Path) -> None:
    """Where the place can be written and the rules are refused, the folder is as it was."""
    before = os.stat(tmp_path).st_mode
    assert "panics" in kraftcheck(*WORDS[name], tmp_path / "new" if "--out" in name else tmp_path / "x").err
    assert (list(tmp_path.iterdir()), os.stat(tmp_path).st_mode) == ([], before)


URLS = ("wasbs://c@a.net/run", "viewfs://name/run", "dbfs://x/run", "s3a:run")

NO_DATASET = ("explore to JSON", "simulate", "simulate to a picture", "check", "query to a picture")
"""Commands that name no dataset: they refuse `file:` URLs, too."""

WITH_URLS = {
    "explore": ("explore", "tests.toys:CLOCK", "--out"),
    "explore under Spark": ("explore", "tests.toys:CLOCK", "--engine", "spark", "--out"),
    "explore again": ("explore", "tests.toys:CLOCK", "--engine", "spark", "--resume", "--out"),
    "explore to JSON": ("explore", "tests.toys:CLOCK", "--json"),
    "simulate": ("simulate", "tests.toys:CLOCK", "--out"),
    "simulate to a picture": ("simulate", "tests.toys:CLOCK", "--plot"),
    "check": ("check", "--out"),
    "replay": ("replay", ELR, "--engine", "spark", "--out"),
    "query": ("query",),
    "query to a picture": ("query", "{out}", "--system", "tests.toys:CLOCK", "--plot"),
    "sweep": ("sweep",),
}


@pytest.mark.parametrize("name", WITH_URLS)
def test_no_command_takes_a_url_for_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command that names an output or a dataset refuses each kind of URL, whole, and makes nothing."""
    kept = tmp_path / "kept"
    kraftcheck("explore", "tests.toys:CLOCK", "--engine", "spark", "--out", kept, "--quiet")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for url in (*URLS, "file:///tmp/run" if name in NO_DATASET else "file://host/run"):
        words = [str(word).format(out=kept) for word in WITH_URLS[name]]
        words += [url, "SELECT 1"] if name == "query" else [url]
        assert f"{url} is a URL" in kraftcheck(*words).refusal()
        assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize("place", ["run", "/a/b:c/d", "a:b", "runs/12:30", "./s3", "C", "-", "k8s", "http"])
def test_paths_are_no_urls(place: str) -> None:
    """Colons alone make no URL."""
    assert local_path(place) == place


@pytest.mark.parametrize("place", ["s3a://b/r", "S3A://b/r", "hdfs:run", "https://x", "a+b.c-1://x"])
def test_urls_are_known_by_their_scheme(place: str) -> None:
    """As typed, or as a path that has lost a slash."""
    for given in (place, Path(place)):
        with pytest.raises(Refusal, match="is a URL"):
            check_local(given)


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "FILE://localhost{}"])
def test_a_dataset_may_be_named_by_a_file_url(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `file:` URL of a folder is that folder, with its escapes decoded, wherever a dataset is named."""
    monkeypatch.chdir(tmp_path)
    url = form.format(f"{tmp_path}/a%20run")
    ran = kraftcheck("explore", "tests.toys:CLOCK", "--engine", "disk", "--quiet", "--out", url)
    assert (ran.code, [path.name for path in tmp_path.iterdir()]) == (0, ["a run"]), ran.err
    told = kraftcheck("query", url, "SELECT count(*) FROM states", "--system", "tests.toys:CLOCK", "--json", "-")
    assert told.code == 0, told.err
    assert kraftcheck("explore", "tests.toys:CLOCK", "--engine", "disk", "--quiet", "--out", url, "--resume").code == 0


NO_PATHS = ("file:run", "file:///a?b", "file:///a#b", "file:///a%00b", "file://host/a", "file:////a")


@pytest.mark.parametrize("place", NO_PATHS)
def test_a_file_url_without_a_path_is_refused(place: str) -> None:
    """What names no path of this machine is refused, not taken for another."""
    with pytest.raises(Refusal, match="URL"):
        local_path(place)


@pytest.mark.parametrize("place", ["run", "./file:/x", "a:b", "/a%20b", "run?1", "-"])
def test_paths_stay_as_they_are(place: str) -> None:
    """Nothing is decoded in a path."""
    assert local_path(place) == place


def test_the_place_of_a_dataset_names_the_stores_that_are_served() -> None:
    """A URL that is no place of a dataset is refused with the kinds of URLs that are."""
    said = kraftcheck("query", "viewfs://bucket/run", "SELECT 1").refusal()
    assert all(f"{scheme}://" in said for scheme in ("s3", "gs", "abfss", "hdfs", "webhdfs"))
