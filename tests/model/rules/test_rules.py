"""Rule sets: presets, variants, and errors that name what was meant."""

import ast
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck import model
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import (
    CHOICES,
    GROUP_OF,
    PRESET_NOTES,
    PRESETS,
    RIGHT,
    RuleSet,
    parse,
    preset,
    variant_name,
    variants,
)

DEFECTS = [name for name, choice in CHOICES.items() if choice.metadata["group"] == "defect"]


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_named_by_itself(name: str) -> None:
    """The name alone is the preset, hyphens and dots included, and each has a note."""
    assert parse(name) == preset(name) == PRESETS[name]
    assert PRESET_NOTES[name]


GROUPS = ("feature", "defect", "seeded", "data-plane", "controller", "features", "images", "heartbeats", "future-logs",
          "broker-ids", "directories", "unclean-recovery", "zk-controller", "zk-jbod")  # fmt: skip


def test_every_choice_says_what_it_is() -> None:
    """A choice has a group, a source and a sentence without a full stop."""
    said = {choice: found.metadata for choice, found in CHOICES.items()}
    assert [choice for choice, one in said.items() if one["group"] not in GROUPS or not one["source"]] == []
    assert [choice for choice, one in said.items() if len(one["text"]) <= 15 or one["text"].endswith(".")] == []


@pytest.mark.parametrize("preset_name", PRESETS)
def test_every_choice_is_a_variant(preset_name: str) -> None:
    """`+name` switches exactly one choice on and `-name` exactly one off, in every preset that does not contradict."""
    rules = PRESETS[preset_name]
    for choice in CHOICES:
        name = variant_name(choice)
        assert "_" not in name
        for sign, on in (("+", True), ("-", False)):
            if on and contradictions(rules.switched(**{choice: on})):
                continue
            found = parse(f"{preset_name}{sign}{name}")
            assert found.value(choice) is on, choice
            assert {other for other in CHOICES if found.value(other) != rules.value(other)} <= {choice}
            assert found == rules.switched(**{choice: on}), choice


def contradictions(rules: RuleSet) -> list[tuple[str, str]]:
    """The pairs of variants of a rule set that contradict each other."""
    pairs = ((name, other) for name, choice in variants().items() for other in choice.metadata["against"])
    return [pair for pair in pairs if all(rules.value(variants()[name].name) for name in pair)]


@pytest.mark.parametrize("preset_name", PRESETS)
def test_contradictory_variants_are_refused(preset_name: str) -> None:
    """No preset has both of two variants of which each says otherwise; both switched on, they are named and refused."""
    assert contradictions(PRESETS[preset_name]) == []
    pairs = [(name, other) for name, choice in variants().items() for other in choice.metadata["against"]]
    assert len(pairs) > 10
    for name, other in pairs:
        with pytest.raises(ScopeError, match=f": {name} and {other} contradict each other; switch one off"):
            parse(f"{preset_name}+{other}+{name}")


def told_apart(text: str) -> set[frozenset[str]]:
    """The pairs of choices of which a rule asks the one only where the other is off."""
    asked = [(one.test, one.orelse) for one in ast.walk(ast.parse(text)) if isinstance(one, ast.If)]
    found = [(first, then[0].test) for first, then in asked if len(then) == 1 and isinstance(then[0], ast.If)]
    named = [[{n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute)} & {*CHOICES} for test in pair]
             for pair in found]  # fmt: skip
    return {frozenset((a, b)) for first, then in named for a in first for b in then}


def test_what_a_rule_tells_apart_by_elif_contradicts() -> None:
    """Where a rule asks a choice only if another is off, the entry of one names the other."""
    pairs = {pair for file in Path(model.__file__).parent.rglob("*.py") for pair in told_apart(file.read_text())}
    of_entries = {frozenset((one.name, variants()[other].name)) for one in CHOICES.values() for other in
                  one.metadata["against"]}  # fmt: skip
    assert frozenset(("activation_writes_no_version", "activation_bootstraps_old_log")) in pairs
    assert pairs <= of_entries


SWITCHES = st.lists(st.tuples(st.sampled_from(sorted(CHOICES)), st.booleans()), max_size=5)


@given(st.sampled_from(sorted(PRESETS)), SWITCHES)
def test_variants_apply_in_order(name: str, switches: list[tuple[str, bool]]) -> None:
    """Several switches are applied from left to right; the last one of a choice wins."""
    text, rules = name, PRESETS[name]
    for choice, on in switches:
        text += f"{'+' if on else '-'}{variant_name(choice)}"
        rules = rules.switched(**{choice: on})
    if contradictions(rules):
        with pytest.raises(ScopeError, match="contradict each other"):
            parse(text)
    else:
        assert parse(text) == rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kafka-5.0", "unknown rule set 'kafka-5.0'; did you mean kafka-4.0"),
        ("fxied", "unknown rule set 'fxied'; did you mean fixed?"),
        ("", "unknown rule set ''; there are 19, such as fixed, kafka-3.9, kafka-3.9.2; `kraftcheck list` shows all"),
        ("kafka-4.0+assignment-clear-elr", "unknown variant 'assignment-clear-elr' in .*mean assignment-clears-elr"),
        ("fixed+", "unknown variant '' in 'fixed\\+'; there are .*; `kraftcheck list --variants` shows all"),
        ("fixed-elr", "unknown variant 'elr' in 'fixed-elr'"),
        ("fixed+elr-available+nonsense", "unknown variant 'nonsense'"),
        ("fixed+kip", "unknown variant 'kip'"),
    ],
)
def test_unknown_names_get_the_nearest(text: str, message: str) -> None:
    """The error names the unknown part and what is near it."""
    with pytest.raises(ScopeError, match=message):
        parse(text)


def test_a_preset_is_looked_up_exactly() -> None:
    """`preset` takes no variants."""
    with pytest.raises(ScopeError, match="unknown rule set 'fixed\\+elr-available'"):
        preset("fixed+elr-available")


def test_fixed_has_no_defect_and_the_snapshot_has_them_all() -> None:
    """`fixed` mends every defect, `kafka-4.0` lacks only those of the documents, and no preset has a seeded one."""
    assert PRESETS["fixed"] == RIGHT
    assert [name for name in DEFECTS if RIGHT.value(name)] == []
    missing = {name for name in DEFECTS if not PRESETS["kafka-4.0"].value(name)}
    assert missing == {"one_directory_means_all_online", "unknown_directory_is_offline", "designated_may_be_leaving"}
    assert {rules for rules in PRESETS for name in missing if PRESETS[rules].value(name)} == {"kip"}
    assert all(PRESETS["kip"].value(name) for name in missing)
    seeded = [f.name for f in variants().values() if f.metadata["group"] == "seeded"]
    assert [name for name in seeded if any(rules.value(name) for rules in PRESETS.values())] == []


def test_releases_differ_by_features_only() -> None:
    """3.9 is 4.0 without ELR."""
    assert PRESETS["kafka-4.0"].switched(elr_available=False) == PRESETS["kafka-3.9"]


def switched(before: str, after: str, group: str) -> set[str]:
    """The choices of a group in which two presets differ."""
    values = PRESETS[before], PRESETS[after]
    return {name for name in CHOICES if GROUP_OF[name] == group and values[0].value(name) != values[1].value(name)}


def test_presets_of_releases_differ_beyond_one_partition() -> None:
    """As their managers are: sessions and registration in 4.0.0, KIP-860 in 4.1.0, limits and policies as they came."""
    changed = partial(switched, group="controller")
    assert changed("kafka-3.9", "kafka-3.9.2") == {"created_partitions_uncounted"}
    assert changed("kafka-3.9.2", "kafka-4.0.0") == {
        "registration_is_one_batch", "metadata_version_range_required", "sessions_by_contact",
        "contacts_hashed_as_lists", "takeover_hears_fenced_brokers",
    }  # fmt: skip
    assert changed("kafka-4.0.2", "kafka-4.1.0") == {"takeover_hears_fenced_brokers", "factor_change_can_be_forbidden"}
    assert changed("kafka-4.1.0", "kafka-4.1.2") == set()
    assert changed("kafka-4.1.2", "kafka-4.4.0") == {
        "contacts_hashed_as_lists", "policy_exception_is_fatal", "unsupported_configs_kept",
        "added_partitions_uncounted", "cordoned_brokers_assignable",
    }  # fmt: skip


def test_presets_of_releases_mend_step_by_step() -> None:
    """What conformance found: 3.9.2 is the snapshot without ELR; 4.0.0, 4.1.0, 4.1.1 and 4.3.0 differ as documented."""
    changed = partial(switched, group="partition")
    mended = {"stale_reregistration_keeps_isr", "every_restart_is_unclean", "min_isr_change_keeps_elr"}
    assert changed("kafka-3.9.2", "kafka-3.9") == set()
    assert changed("kafka-3.9.2", "kafka-4.0.0") == {*mended, "elr_available", "elr_downgrade"}
    alike = (("4.0.0", "4.0.1", "4.0.2"), ("4.1.1", "4.1.2", "4.2.0", "4.2.1", "4.2.2"), ("4.3.0", "4.3.1", "4.4.0"))
    for first, *others in alike:
        assert all(changed(f"kafka-{first}", f"kafka-{other}") == set() for other in others)
    assert changed("kafka-4.1", "kafka-4.1.0") == {
        "last_known_leader_may_be_removed", "stale_reregistration_keeps_isr", "elr_downgrade",
    }  # fmt: skip
    assert changed("kafka-4.1.0", "kafka-4.1.1") == {"last_known_leader_on_leader_loss"}
    assert changed("kafka-4.2.2", "kafka-4.3.0") == {"assignment_clears_elr", "completion_tolerates_stragglers"}


def test_late_replies_are_mended_in_all_but_one_release() -> None:
    """Followers of 4.0.0 append what is late, as the snapshot does; those of 3.9.2, 4.0.1 and later do not."""
    late = {"earlier_reply_applied", "append_beyond_fetch_epoch"}
    had = {name for name in PRESETS if any(PRESETS[name].value(choice) for choice in late)}
    assert had == {"kafka-3.9", "kafka-4.0", "kafka-4.0.0"}
    assert switched("kafka-4.0.0", "kafka-4.0.1", "data_plane") == late
