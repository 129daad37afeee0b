"""A cache of compiled object code on disk, keyed by content.

An entry is named by a hash of everything the code depends on. It is written
to a temporary name and renamed; its own checksum tells whether it is whole.
Nothing here fails: what cannot be read or written is a warning.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from attrs import define, field

_MAGIC = b"kraftcheck object 1\n"


@define
class ObjectCache:
    """A folder of object files.

    Attributes:
        folder: where they are; None: keep none.
        warnings: one line for each thing that went wrong.
    """

    folder: Path | None
    warnings: list[str] = field(factory=list)

    def get(self, key: str) -> bytes | None:
        """The object code of a key; None when there is none or it is damaged."""
        if self.folder is None:
            return None
        path = self.folder / f"{key}.o"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self.warnings.append(f"cannot read compiled code {path}: {error.strerror}; compiling again")
            return None
        code = content[len(_MAGIC) + 32 :]
        if content[: len(_MAGIC) + 32] != _MAGIC + hashlib.sha256(code).digest():
            self.warnings.append(f"compiled code {path} is damaged; compiling again")
            return None
        return code

    def put(self, key: str, code: bytes) -> None:
        """Keep the object code of a key."""
        if self.folder is None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + hashlib.sha256(code).digest() + code)
                os.replace(name, self.folder / f"{key}.o")
            except OSError:
                os.unlink(name)
                raise
        except OSError as error:
            self.warnings.append(f"cannot keep compiled code in {self.folder}: {error.strerror}")
