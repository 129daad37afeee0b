"""The layouts of records against the schemas that a release carries in its jar."""

import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from kraftcheck.ci.conformance.kafka.jars import jars
from kraftcheck.ci.logs.format.fields import FORMS, RECORDS, STRUCTS, FieldForm

pytestmark = pytest.mark.xdist_group("kafka")

NEWEST = "4.4.0"

STRUCT_NAMES = {
    "BrokerEndpoint": "Endpoint", "ControllerEndpoint": "Endpoint", "BrokerFeature": "Feature",
    "ControllerFeature": "Feature", "EntityData": "Entity",
}  # fmt: skip
"""The structs of the schemas by our name: equal ones have one."""


def schemas(version: str) -> Iterator[Mapping[str, Any]]:
    """The schema of every record that a release reads and writes."""
    (jar,) = (path for path in jars(version).split(os.pathsep) if path.endswith(f"kafka-metadata-{version}.jar"))
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if re.fullmatch(r"common/metadata/\w+\.json", name):
                text = archive.read(name).decode("utf-8")
                yield json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def first(versions: str) -> int:
    """The first version of a range."""
    return int(re.split(r"[-+]", versions)[0])


def forms(fields: list[Mapping[str, Any]]) -> tuple[FieldForm, ...]:
    """The fields of a schema as a layout has them."""
    kinds = [(field["type"].removeprefix("[]"), field["type"].startswith("[]")) for field in fields]
    return tuple(
        FieldForm(
            field["name"][0].lower() + field["name"][1:], STRUCT_NAMES.get(kind, kind), many, first(field["versions"]),
            "nullableVersions" in field, field.get("tag"),
        )
        for field, (kind, many) in zip(fields, kinds, strict=True)
    )  # fmt: skip


def tag_of(field: FieldForm) -> int:
    """Tagged fields have no order among others; the rest are written in theirs."""
    return -1 if field.tag is None else field.tag


def test_every_layout_is_that_of_the_newest_release() -> None:
    """Number, name, highest version and each field of each record and struct are those of the newest release."""
    given = {schema["apiKey"]: schema for schema in schemas(NEWEST)}
    assert len(given) > 25
    assert given.keys() == RECORDS.keys()
    for number, schema in given.items():
        form = RECORDS[number]
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", schema["name"]).upper()
        assert (FORMS[form.name], form.highest) == (form, int(schema["validVersions"].split("-")[-1])), name
        assert form.name == name
        assert sorted(form.fields, key=tag_of) == sorted(forms(schema["fields"]), key=tag_of), name
        for field in schema["fields"]:
            if "fields" in field:
                assert STRUCTS[STRUCT_NAMES[field["type"].removeprefix("[]")]] == forms(field["fields"]), name
