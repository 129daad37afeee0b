"""Directory ids: reserved numbers, online directories, text forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.partition.registration import (
    LOST,
    MIGRATING,
    UNASSIGNED,
    DirectoryList,
    DirectoryMismatch,
    assignment_map,
    is_online,
    is_reserved,
)
from kraftcheck.model.records.fields import CODE, DRAFT, KIP, DirectoryTextError
from kraftcheck.model.rules.ruleset import PRESETS, RIGHT
from kraftcheck.model.triggers.leadership import replica_online


@pytest.mark.parametrize(
    ("directory", "reserved"),
    [
        (0, True),
        (99, True),
        (100, False),
        (1 << 63, True),
        ((1 << 64) - 1, True),
        (1 << 64, False),
        ((1 << 63) - 1, False),
    ],
)
def test_reserved(directory, reserved):
    """The first hundred ids are reserved; the low half counts as signed, the high half must be zero."""
    assert is_reserved(directory) is reserved


@pytest.mark.parametrize("directory", [MIGRATING, UNASSIGNED, 7])
@pytest.mark.parametrize("none_known", [False, True])
@pytest.mark.parametrize("listed", [False, True])
def test_unregistered_brokers_have_nothing_online(directory, none_known, listed):
    """No directory of an unregistered broker is online."""
    assert not is_online(directory, False, none_known, listed)


def test_lost_is_never_online():
    """LOST is offline whatever the registration lists."""
    assert not any(is_online(LOST, True, none, listed) for none in (False, True) for listed in (False, True))


@pytest.mark.parametrize("directory", [MIGRATING, UNASSIGNED])
@pytest.mark.parametrize(("count", "online"), [(1, True), (2, False)])
def test_an_unknown_directory_is_offline_by_the_letter_of_the_document(directory, count, online):
    """Where several directories are registered UNASSIGNED and MIGRATING are none of them; only `kip` reads it so."""
    letter = RIGHT.switched(unknown_directory_is_offline=True).partition
    assert replica_online(directory, True, count, False, False, letter) is online
    for name, rules in PRESETS.items():
        expected = online if name == "kip" else True
        assert replica_online(directory, True, count, False, False, rules.partition) is expected, name


def test_assignment_map():
    """Replicas and directories are zipped; unequal lengths and repeated replicas are refused."""
    assert assignment_map([2, 1], [7, 8]) == {2: 7, 1: 8}
    with pytest.raises(DirectoryMismatch):
        assignment_map([1, 2], [7])
    with pytest.raises(DirectoryMismatch):
        assignment_map([1, 1], [7, 8])


def test_directory_of_a_stranger():
    """Asking for the directory of a broker that is no replica is an error."""
    listed = DirectoryList((3, 1), (7, 8))
    assert listed.of(1) == 8
    with pytest.raises(DirectoryMismatch, match="broker 2"):
        listed.of(2)


def test_text_of_known_ids():
    """Texts of the reserved ids and of an id from a real cluster."""
    assert [CODE.text(d) for d in (MIGRATING, UNASSIGNED, LOST)] == ["MIGRATING", "UNASSIGNED", "LOST"]
    assert CODE.base64(LOST) == "AAAAAAAAAAAAAAAAAAAAAg"
    assert CODE.parse("AAAAAAAAAAAAAAAAAAAAAQ") == UNASSIGNED
    assert CODE.text(CODE.parse("P2aL9r4sSqqyt7bC0uierg")) == "P2aL9r4sSqqyt7bC0uierg"
    assert CODE.parse("AAAAAAAAAAAAAAAAAAAAZA") == 100


def test_numberings_differ():
    """The same number means different things in the KIP, its draft and the code."""
    zero, one, two = (CODE.base64(d) for d in (0, 1, 2))
    assert [KIP.parse(text) for text in (zero, one, two)] == [UNASSIGNED, LOST, MIGRATING]
    assert [DRAFT.parse(text) for text in (zero, one)] == [UNASSIGNED, LOST]
    assert (KIP.parse("MIGRATING_DIR"), DRAFT.parse("OfflineDir")) == (MIGRATING, LOST)


def test_draft_knows_no_migrating():
    """The draft can neither write MIGRATING nor read the number 2."""
    with pytest.raises(DirectoryTextError, match="no form"):
        DRAFT.text(MIGRATING)
    with pytest.raises(DirectoryTextError, match="does not know"):
        DRAFT.parse(CODE.base64(2))


@pytest.mark.parametrize(
    "text", ["", "short", "P2aL9r4sSqqyt7bC0uierg==", "P2aL9r4sSqqyt7bC0uier!", "UNASSIGNED_DIR", 3, None]
)
def test_other_texts_are_refused(text):
    """Neither a name of this numbering nor 22 characters of base64: refused."""
    with pytest.raises(DirectoryTextError):
        CODE.parse(text)


@given(st.integers(0, (1 << 128) - 1))
def test_text_round_trip(directory):
    """Every 128-bit id survives its text form in the code's and the KIP's numbering."""
    for numbering in (CODE, KIP):
        assert numbering.parse(numbering.text(directory)) == directory
        assert numbering.parse(numbering.base64(directory)) == directory


@given(st.text(max_size=24))
def test_parsing_never_crashes(text):
    """Any text is an id or a clean refusal in one line."""
    try:
        outcome = CODE.parse(text)
    except DirectoryTextError as error:
        outcome = str(error)
    assert isinstance(outcome, int) or "\n" not in outcome
