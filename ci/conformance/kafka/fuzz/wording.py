"""Requests and answers of a sequence for a reader: each word with its name, and what two answers differ in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

WORDS = {
    "register": ("broker", "incarnation", "directories", "previous_epoch", "rack", "cluster", "form"),
    "heartbeat": ("broker", "epoch", "want_fence", "want_shut_down", "offset", "failed_directories", "cordoned"),
    "unregister": ("broker",),
    "wait": ("ms",),
    "config": ("of", "name", "key", "value"),
    "elr": ("switched",),
    "create": ("topic", "partitions", "replication", "replicas", "configs", "first_index", "index_step"),
    "delete": ("topic",),
    "grow": ("topic", "partitions", "replicas"),
    "alter": ("broker", "epoch", "topic/partition/leader_epoch/partition_epoch/recovering/isr"),
    "reassign": ("topic/partition/replicas", "factor"),
    "elect": ("type", "topic/partition"),
    "list": ("topic/partition",),
    "assign": ("broker", "epoch", "directory/topic/partition"),
}
"""The words of each request by name, in the order of FuzzDriver.java and FuzzRequests.java; others have none."""

ABSENT = ("-", "null")  # words that say nothing
USUAL = {"previous_epoch": "-1", "cluster": "cluster", "partitions": "-1", "replication": "-1", "first_index": "0",
         "index_step": "1"}  # fmt: skip
"""Words that say nothing where they have these names."""

_SHOWN = ("partition ", "change ", "remove ")  # how the records begin that say what became of partitions


def request_text(line: str) -> str:
    """A request with the names of its words, as a trace has them; words that say nothing are left out."""
    kind, *words = line.split(" ")
    names = WORDS.get(kind, ())
    if len(names) != len(words):
        return line
    told = {name: word for name, word in zip(names, words, strict=True)
            if word not in ABSENT and USUAL.get(name) != word}  # fmt: skip
    shown = (f"{name}={f'[{word}]' if ',' in word and '/' not in name else word}" for name, word in told.items())
    return f"{kind}({', '.join(shown)})"


def begin_text(line: str) -> str:
    """The first line of a sequence: the controller that it asks."""
    _, *words = line.split(" ")
    said = {"elr": "ELR is on", "few": "a timer elects few leaders at a time"}
    told = [said.get(word, f"its log begins at {word}") for word in words]
    return f"a controller without topics{''.join(f', {text}' for text in told)}"


def plain_answer(answer: str) -> str:
    """What an answer says of partitions, and its reply where that is more than that all is well."""
    head, *records = answer.split("|")
    reply = head.removeprefix("ok ")
    shown = [re.sub(r" \w+=(?= |$)", "", one) if one.startswith("partition ") else one
             for one in records if one.startswith(_SHOWN)]  # fmt: skip
    plain = not reply or reply.isdigit() or set(re.split("[,=+]", reply)) <= {"NONE", "true", "false"}
    return "; ".join(([] if plain else [reply]) + shown) or "ok"


def apart(classes: str, rules: str) -> str:
    """What two answers differ in: the reply, or fields of records; empty where only their order is another."""
    return "; ".join(_apart(classes, rules))


def _apart(classes: str, rules: str) -> Iterator[str]:
    (reply, *mine), (expected, *theirs) = classes.partition("#")[0].split("|"), rules.partition("#")[0].split("|")
    if reply != expected:
        yield f"the classes reply {reply.removeprefix('ok ')}, the rules {expected.removeprefix('ok ')}"
    for record in dict.fromkeys(_head(one) for one in (*mine, *theirs)):
        found = [next((one for one in records if _head(one) == record), None) for records in (mine, theirs)]
        if None in found:
            yield f"{record} is in the answer of the {'rules' if found[0] is None else 'classes'} alone"
            continue
        own, other = (dict(word.split("=", 1) for word in (one or "").split(" ") if "=" in word) for one in found)
        names = [name for name in dict.fromkeys((*own, *other)) if own.get(name) != other.get(name)]
        if names:
            yield f"{record}: the classes have {_fields(own, names)}; the rules {_fields(other, names)}"


def _fields(of: Mapping[str, str], names: Iterable[str]) -> str:
    return ", ".join(f"{name}={of[name]}" for name in names if name in of) or f"no {', '.join(names)}"


def _head(record: str) -> str:
    return " ".join(record.split(" ")[:2])
