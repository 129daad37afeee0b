"""Text forms of directory ids, and how documents number the reserved ones.

The model uses the code's numbers throughout. The design document numbered the
same three ideas otherwise, and its first draft knew only two of them, under
other names; their texts are translated here and nowhere else.

Source: `DirectoryId`, `Uuid`; KIP-858, "Reserved UUIDs" in both drafts.
"""

from __future__ import annotations

import base64
import binascii

from attrs import frozen

from kraftcheck.model.partition.directories import LOST, MIGRATING, UNASSIGNED

BYTES = 16


class DirectoryTextError(ValueError):
    """A text that is no directory id, or an id without a form in a numbering."""


@frozen
class Reserved:
    """One reserved id.

    Attributes:
        name: what the document calls it.
        number: what the document numbers it.
        id: what the model numbers it.
    """

    name: str
    number: int
    id: int


@frozen
class Numbering:
    """How one document writes directory ids.

    Attributes:
        name: the document.
        reserved: its reserved ids.
    """

    name: str
    reserved: tuple[Reserved, ...]

    def text(self, directory: int) -> str:
        """An id as a reserved name, else as 22 characters of URL-safe base64.

        Raises:
            DirectoryTextError: for a reserved id the document does not know.
        """
        known = self._by_id(directory)
        return known.name if known else _to_base64(directory)

    def base64(self, directory: int) -> str:
        """An id as 22 characters of URL-safe base64, as the log holds it.

        Raises:
            DirectoryTextError: for a reserved id the document does not know.
        """
        known = self._by_id(directory)
        return _to_base64(known.number if known else directory)

    def parse(self, text: object) -> int:
        """The id that a name or 22 characters of base64 stand for.

        Raises:
            DirectoryTextError: for anything else.
        """
        if not isinstance(text, str):
            raise DirectoryTextError(f"{text!r} is not the text of a directory id")
        for known in self.reserved:
            if known.name == text:
                return known.id
        number = _from_base64(text)
        for known in self.reserved:
            if known.number == number:
                return known.id
        if number in _RESERVED_IDS:
            raise DirectoryTextError(f"{text!r} is a reserved id that {self.name} does not know")
        return number

    def _by_id(self, directory: int) -> Reserved | None:
        found = next((known for known in self.reserved if known.id == directory), None)
        if found is None and directory in _RESERVED_IDS:
            raise DirectoryTextError(f"reserved id {directory} has no form in {self.name}")
        return found


_RESERVED_IDS = (MIGRATING, UNASSIGNED, LOST)

CODE = Numbering(
    "the code",
    (Reserved("MIGRATING", 0, MIGRATING), Reserved("UNASSIGNED", 1, UNASSIGNED), Reserved("LOST", 2, LOST)),
)
"""The numbering of Kafka's code and of the model."""

KIP = Numbering(
    "KIP-858",
    (
        Reserved("UNASSIGNED_DIR", 0, UNASSIGNED),
        Reserved("LOST_DIR", 1, LOST),
        Reserved("MIGRATING_DIR", 2, MIGRATING),
    ),
)
"""The numbering of the design document."""

DRAFT = Numbering("the draft of KIP-858", (Reserved("UnknownDir", 0, UNASSIGNED), Reserved("OfflineDir", 1, LOST)))
"""The numbering of the design document's earlier draft, which has no MIGRATING."""


def _to_base64(number: int) -> str:
    try:
        raw = number.to_bytes(BYTES, "big")
    except OverflowError:
        raise DirectoryTextError(f"{number} is not a 128-bit id") from None
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _from_base64(text: str) -> int:
    """The number of a base64 text; unused low bits of the last character are ignored, as in Kafka."""
    try:
        raw = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != BYTES or len(text) != 22:
        raise DirectoryTextError(f"{text!r} is neither a reserved name nor 22 characters of base64")
    return int.from_bytes(raw, "big")
