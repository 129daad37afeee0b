"""An extension of Griffe: the API reference tells of a field or a constant what is said behind it, or above it."""

import re
from typing import Any

import griffe

SECTION = "Attributes:\n"
BEHIND, ABOVE = re.compile(r"\S.*?  # ((?!fmt: |noqa|type: ).+)"), re.compile(r"\s*# (.+)")


def comment_of(one: griffe.Attribute) -> str:
    """What is said of an attribute in its line, or else in comments above it; empty where nothing is."""
    if one.lineno is None or one.is_alias:
        return ""
    lines = one.lines_collection[one.filepath]
    if behind := BEHIND.search(lines[one.lineno - 1]):
        return behind[1]
    first = one.lineno - 1
    while first and ABOVE.fullmatch(lines[first - 1]):
        first -= 1
    return " ".join(line.strip(" #") for line in lines[first : one.lineno - 1])


class Comments(griffe.Extension):
    """Adds what comments say: of a constant as its docstring, of fields to the section of their class."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Describe a constant."""
        if attr.docstring is None and isinstance(attr.parent, griffe.Module) and (told := comment_of(attr)):
            attr.docstring = griffe.Docstring(f"{told[0].upper()}{told[1:]}.", parent=attr)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Describe the fields of a class; a comment on several begins with their names."""
        of = {name: text for name, one in cls.attributes.items() if (text := comment_of(one))}
        rows = [text if text.startswith((f"{name}, ", f"{name}: ")) else f"{name}: {text}" for name, text in of.items()]
        if rows and cls.docstring is not None:
            before, _, more = cls.docstring.value.partition(SECTION)
            told = "".join(f"    {row}.\n" for row in rows)
            cls.docstring.value = f"{before.rstrip()}\n\n{SECTION}{told}{more}"
