"""Conformance: all given vectors pass, any tampering is noticed, bad input is named."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import kraftcheck as kc
from kraftcheck.ci.conformance.vectors import FUNCTIONS, run_vector
from kraftcheck.ci.conformance.vectors.core import FAILED, PASSED, UNSUPPORTED, Vector
from kraftcheck.ci.conformance.vectors.run import conform
from kraftcheck.ci.terminal.commands import cli
from kraftcheck.model.records.fields import Fields
from kraftcheck.model.rules.ruleset import preset
from tests.ci.conformance.tampering import tampered
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS

FOLDER = TESTS / "vectors"
SUPPORTED = {
    "partition_change": 68,
    "reassignment_replicas": 9,
    "reassignment_revert": 3,
    "partition_registration": 16,
    "broker_registration": 15,
    "directory_id": 7,
    "heartbeat": 25,
    "placement": 13,
    "scenarios_cluster_control": 23,
    "scenarios_replication_control": 73,
}
RULES = preset("kafka-4.0")


def load(name):
    """The content of a given vector file."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def vector(raw):
    """The vector that an object describes."""
    parts = {part: Fields.of(raw[part], part) for part in ("given", "when", "then")}
    return Vector(raw["id"], raw["function"], **parts)


ALL = [raw for name in SUPPORTED for raw in load(name)]

OWN = Path(__file__).parent / "own.json"
"""Vectors of our own: rules, forms and further inputs of the schema that no given one is about."""


@pytest.mark.parametrize(
    ("path", "number"), [*((FOLDER / f"{name}.json", number) for name, number in SUPPORTED.items()), (OWN, 76)],
    ids=lambda value: value.stem if isinstance(value, Path) else "",
)  # fmt: skip
def test_vectors_pass(path, number):
    """Every vector of the file passes under kafka-4.0."""
    assert conform((path,)).counts() == {PASSED: number}


@pytest.mark.parametrize("raw", [*ALL, *json.loads(OWN.read_text("utf-8"))], ids=lambda raw: raw["id"])
def test_tampering_is_noticed(raw):
    """No expected value of the vector can be changed without making it fail."""
    number = 0
    for key, other in tampered(raw):
        outcome = run_vector(vector({**raw, "then": {**raw["then"], key: other}}), RULES)
        assert outcome.status == FAILED, (key, other)
        assert outcome.differences[0].field.startswith(key)
        number += 1
    assert number or raw["then"].get("change") == {}


def test_unchanged_is_checked():
    """A field that must stay unchanged and is in the change makes the vector fail."""
    raw = next(raw for raw in ALL if raw["then"].get("unchanged") and raw["then"]["change"])
    tampered = {**raw, "then": {**raw["then"], "unchanged": list(raw["then"]["change"])}}
    assert run_vector(vector(tampered), RULES).status == FAILED


def test_no_text_of_a_vector_reaches_the_terminal_raw(tmp_path):
    """Ends of lines and escapes in the name of a vector that fails are shown, so it adds no line to the report."""
    raw = next(raw for raw in ALL if raw["function"] == "directory_of")
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps([{**raw, "id": "x\x1b[2J\n::error::y", "then": {"error": "ILLEGAL_ARGUMENT"}}]))
    ran = kraftcheck("conform", "--vectors", path)
    assert "FAILED x\\x1b[2J\\n::error::y (" in ran.out
    assert kc.conform(path).text in ran.out


def test_a_link_in_a_folder_of_vectors_is_refused(tmp_path):
    """A link in the place of a file is named; a file that the command line names may be one."""
    (tmp_path / "given.json").symlink_to(FOLDER / "directory_id.json")
    told = kraftcheck("conform", "--vectors", tmp_path).refusal()
    assert told == f"{tmp_path / 'given.json'}: a link in the folder; name the file that it leads to"
    assert kraftcheck("conform", "--vectors", tmp_path / "given.json").code == 0


def test_unexpected_error_fails():
    """A vector that expects a result fails when the model answers with an error, and the other way round."""
    lost = next(raw for raw in ALL if raw["function"] == "directory_of")
    assert run_vector(vector({**lost, "when": {"broker": 9}}), RULES).status == FAILED
    asked = {**lost, "when": {"broker": 9}, "then": {"error": "ILLEGAL_ARGUMENT"}}
    assert run_vector(vector(asked), RULES).status == PASSED
    assert run_vector(vector({**lost, "then": {"error": "ILLEGAL_ARGUMENT"}}), RULES).status == FAILED


@pytest.mark.parametrize("part", ["given", "when", "then"])
def test_unknown_keys_are_unsupported(part):
    """A key that would be ignored makes a vector unsupported rather than passed."""
    raw = load("directory_id")[0]
    outcome = run_vector(vector({**raw, part: {**raw[part], "novelty": 1}}), RULES)
    assert outcome.status == UNSUPPORTED
    assert f"{part}.novelty" in outcome.reason


def test_wrong_rules_fail_some_vector():
    """The vectors tell rule sets apart: a variant that keeps the epoch on removal fails."""
    report = conform((FOLDER / "partition_change.json",), "kafka-4.0+no-bump-on-replica-removal")
    assert report.counts()[FAILED] > 0
    assert report.exit_code(allow_unsupported=True) == 23


def test_continued_vectors_start_where_the_others_end(tmp_path):
    """A vector whose start is not the result of the vector it continues fails."""
    vectors = load("partition_change")
    known = {raw["id"] for raw in vectors}
    continued = next(raw for raw in vectors if raw.get("given_continues") in known)
    assert conform((write(tmp_path, vectors),)).counts() == {PASSED: 68}
    continued["given"]["partition"]["partition_epoch"] += 5
    assert "after" not in continued["then"]
    assert conform((write(tmp_path, vectors),)).counts()[FAILED] == 1


def write(folder, content):
    """A vector file with this content."""
    path = folder / "vectors.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def invoke(*arguments):
    """The result of the command with these arguments."""
    return CliRunner().invoke(cli, ["conform", *map(str, arguments)])


def test_command_counts_per_file(tmp_path):
    """Files and folders may be named several at a time and repeatedly; each file gets a line of counts, and rows."""
    target, names = tmp_path / "rows.json", ("directory_id", "reassignment_revert")
    result = invoke("--vectors", *(FOLDER / f"{name}.json" for name in names), "--vectors", FOLDER, "--json", target)
    assert result.exit_code == 0
    for name, number in SUPPORTED.items():
        assert f"{FOLDER / name}.json: {number} passed, 0 failed, 0 unsupported" in result.output
    document = json.loads(target.read_text())
    assert document["totals"] == {"passed": sum(SUPPORTED.values()), "failed": 0, "unsupported": 0}
    assert len(document["rows"]) == sum(SUPPORTED.values())
    assert list(tmp_path.iterdir()) == [target]


def test_what_cannot_be_run_fails_the_command_unless_allowed(tmp_path):
    """A step that no adapter knows makes its vector unsupported; the other vectors of the file are run."""
    vectors = load("scenarios_cluster_control")
    vectors[0]["when"]["steps"].append({"op": "novelty"})
    path = write(tmp_path, vectors)
    result = invoke("--vectors", path)
    assert result.exit_code == 23
    assert "22 passed, 0 failed, 1 unsupported" in result.output
    assert "unknown step novelty" in result.output
    assert invoke("--vectors", path, "--allow-unsupported").exit_code == 0


def test_command_shows_failures_field_by_field(tmp_path):
    """A failure shows the vector's id and each field with both values; allowing unsupported does not help."""
    vectors = load("reassignment_revert")
    vectors[0]["then"]["isr"] = [9]
    result = invoke("--vectors", write(tmp_path, vectors), "--allow-unsupported")
    assert result.exit_code == 23
    assert f"FAILED {vectors[0]['id']}" in result.output
    assert "isr: expected [9], actual [3, 2]" in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "vectors.json"),
        ('{"a": 1}', "a list is wanted"),
        ("[1]", "vector 0"),
        ("[]", "no vectors"),
        ('[{"id": "v", "id": "w"}]', "'id' is repeated"),
        ([{"id": "v", "function": "is_reserved", "given": {}, "when": {}}], "v: then: missing"),
        ([{"id": "v", "function": "is_reserved", "given": {}, "when": {}, "then": {}}], "v: when.dir: missing"),
        ([{"id": "v", "function": "is_reserved", "given": {}, "when": {"dir": "?"}, "then": {}}], "v: when.dir: '?'"),
        (
            [{"id": "v", "function": "broker_id", "given": {"registration": 3}, "when": {}, "then": {}}],
            "given.registration",
        ),
        ([load("directory_id")[0]] * 2, "used twice"),
    ],
)
def test_malformed_vectors_are_named(tmp_path, content, message):
    """Malformed input ends in one line that names file, vector and key, with exit code 2."""
    result = invoke("--vectors", write(tmp_path, content))
    assert result.exit_code == 2
    assert message in result.output
    assert str(tmp_path) in result.output
    assert result.output.strip().count("\n") == 0


def test_other_bad_input(tmp_path):
    """Missing paths, unknown rule sets and unwritable output end in one line with exit code 2."""
    good = FOLDER / "directory_id.json"
    bad = [
        ("--vectors", tmp_path / "none"),
        ("--vectors", tmp_path),
        (),
        ("--vectors", good, "--rules", "kafka-9"),
        ("--vectors", good, "--json", tmp_path / "no" / "where.json"),
    ]
    for arguments in bad:
        result = invoke(*arguments)
        assert result.exit_code == 2, arguments
        assert result.output.strip().count("\n") == 0


def test_every_function_has_a_vector():
    """Each supported function is exercised by a given vector."""
    used = {raw["function"] for raw in ALL}
    assert {name.split(".")[-1] for name in FUNCTIONS} == used


@pytest.mark.parametrize("then", [{}, {"reason": "none"}])
def test_a_vector_that_expects_nothing_has_not_passed(then):
    """A vector without an expectation says nothing of the rules, so it is not counted as passed."""
    raw = {"id": "x", "function": "assignment_equality", "given": {}, "when": {"left": [0], "right": [1]}, "then": then}
    outcome = run_vector(vector(raw), RULES)
    assert (outcome.status, outcome.reason) == (UNSUPPORTED, "then: nothing is expected")
