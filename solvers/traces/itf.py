"""Traces as ITF documents (Apalache ADR-015), written with all that a replay needs and read back; and as plain values.

A document holds what is needed to run the trace again: the system, its
bounds and rules, and for each step the action with its arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import Enum
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.expressions.expression import FIND, INVARIANT, WHEN, typed_id
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Refuted, Trace, TraceStep, Verdict

_INTEGER = re.compile(r"-?[0-9]+")


def encoded(value: Any) -> Any:
    """A plain value as JSON in ITF's encoding.

    Args:
        value: of truths, texts, ints, lists, frozensets, and `SimpleNamespace`s as records.

    Raises:
        TypeError: when ITF has no such value.
    """
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"#bigint": str(int(value))}
    if isinstance(value, list):
        return [encoded(item) for item in value]
    if isinstance(value, frozenset):
        return {"#set": _ordered([encoded(item) for item in value])}
    if isinstance(value, SimpleNamespace):
        return {name: encoded(item) for name, item in vars(value).items()}
    raise TypeError(f"ITF has no value for {value!r}")


def normal(document: Any) -> Any:
    """The JSON of a value with one text for each value: sets ascending and without repeats, every int a `#bigint`.

    Raises:
        ValueError: when it is not ITF; the message names the part.
    """
    if isinstance(document, bool | str):
        return document
    if isinstance(document, int):
        return {"#bigint": str(document)}
    if isinstance(document, list):
        return [normal(item) for item in document]
    if not isinstance(document, dict):
        raise ValueError(f"{_short(document)} is no value")
    marks = [name for name in document if name.startswith("#")]
    if not marks:
        return {name: normal(item) for name, item in document.items()}
    if len(document) > 1 or marks[0] not in _MARKED:
        raise ValueError(f"{_short(document)}: one key of {', '.join(_MARKED)} is expected")
    return {marks[0]: _MARKED[marks[0]](document[marks[0]])}


def _integer(content: Any) -> str:
    if not isinstance(content, str) or not _INTEGER.fullmatch(content):
        raise ValueError(f"#bigint {_short(content)} is no text of a whole number")
    return str(int(content))


def _members(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError(f"{_short(content)} is no list of members")
    return [normal(item) for item in content]


def _set(content: Any) -> list[Any]:
    return _ordered(_members(content))


def _pairs(content: Any) -> list[Any]:
    pairs = _members(content)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{_short(pair)} in a #map is no pair")
    if len({json.dumps(key) for key, _ in pairs}) < len(pairs):
        raise ValueError(f"{_short(pairs)}: a #map has a key twice")
    return pairs


def _text(content: Any) -> str:
    if not isinstance(content, str):
        raise ValueError(f"#unserializable {_short(content)} is no text")
    return content


_MARKED: Mapping[str, Callable[[Any], Any]] = {
    "#bigint": _integer, "#tup": _members, "#set": _set, "#map": _pairs, "#unserializable": _text,
}  # fmt: skip
"""The key that marks a value which JSON lacks, and the normal form of its content."""


def _ordered(items: list[Any]) -> list[Any]:
    """Members in the order of their texts, each once."""
    texts = {json.dumps(item): item for item in items}
    return [texts[text] for text in sorted(texts)]


def _short(document: Any) -> str:
    text = json.dumps(document)
    return text if len(text) <= 40 else f"{text[:40]}..."


def spelled(value: Any) -> str:
    """A value of `normal` in TLA+'s spelling, sets in the order of their texts.

    >>> spelled(normal({"isr": {"#set": [2, 1]}, "tag": "a"}))
    '[isr |-> {1, 2}, tag |-> "a"]'
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "<<" + ", ".join(map(spelled, value)) + ">>"
    match value:
        case {"#bigint": text}:
            return str(text)
        case {"#unserializable": text}:
            return str(text)
        case {"#tup": items}:
            return spelled(items)
        case {"#set": items}:
            return "{" + ", ".join(sorted(map(spelled, items))) + "}"
        case {"#map": pairs}:
            return "(" + " @@ ".join(f"{spelled(key)} :> {spelled(item)}" for key, item in pairs) + ")"
        case {"tag": str(tag), "value": content} if len(value) == 2:
            return f"Variant({spelled(tag)}, {spelled(content)})"
    return "[" + ", ".join(f"{name} |-> {spelled(item)}" for name, item in value.items()) + "]"


FORMAT_VERSION = 1
ACTION = "mbt::actionTaken"
PICKS = "mbt::nondetPicks"
_KEYS = ("#meta", "params", "vars", "loop", "states")
_ABOUT = ("version", "system", "scope", "bounds", "rules", "property", "kind", "failing", "shortest", "options")


class TraceError(ValueError):
    """A trace document that is malformed, or does not fit the system; the message names the place."""


@frozen
class Recipe:
    """The content of a trace document."""

    system: str  # name, or `module:attribute`
    # scope, bounds, rules: the setting; rules is the text given, or None
    scope: str
    bounds: Mapping[str, int]
    rules: str | None
    property: str  # what the trace is about
    shortest: bool  # whether the engine that made it found no shorter one
    states: tuple[Mapping[str, Any], ...]  # the encoded states, the initial one first
    steps: tuple[tuple[str, Any], ...]  # action names and encoded arguments
    loop: int | None = None  # of a lasso, the number of the state that the last one is again; None: no lasso
    # the options of the command line that add the property; none where the system has it
    options: Mapping[str, str] = field(factory=dict)


def plain(value: Any) -> Any:
    """A state, argument or event in ITF's terms: ints, truths, sets, lists, records."""
    if isinstance(value, BrokerSet):
        return frozenset(value)
    if isinstance(value, Replicas | AtMostOne):
        return list(value)
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return value.name
    names = record_fields(type(value))
    if names is None:
        return value
    if len(names) == 1:
        return plain(getattr(value, names[0]))
    return SimpleNamespace(**{name: plain(getattr(value, name)) for name in names})


def encode(value: Any) -> Any:
    """A value as JSON in ITF's encoding; sets in ascending order, so that equal values have equal text."""
    return encoded(plain(value))


def document(trace: Trace, program: Program, system: str, rules: str | None, shortest: bool) -> dict[str, Any]:
    """The trace as an ITF document, with what is needed to run it again."""
    setting = program.setting
    rows = [("", {}, trace.initial), *((s.action, s.arguments, s.state) for s in trace.steps)]
    states = [
        {
            "#meta": {"index": number},
            **_variables(state),
            ACTION: action,
            PICKS: {name: encode(value) for name, value in args.items()},
        }
        for number, (action, args, state) in enumerate(rows)
    ]
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": f"{trace.claim} of {system}",
            "kraftcheck": {
                "version": FORMAT_VERSION,
                "system": system,
                "scope": setting.scope,
                "bounds": dict(setting.bounds),
                "rules": rules,
                "property": next((typed_id(claim) for claim in program.claims if claim.id == trace.claim), trace.claim),
                "kind": trace.kind,
                "failing": list(trace.failing),
                "shortest": shortest,
                **_options(trace, program),
            },
        },
        "vars": [*_variables(trace.initial), ACTION, PICKS],
        **({} if trace.loop is None else {"loop": trace.loop.start}),
        "states": states,
    }


def _options(trace: Trace, program: Program) -> dict[str, Any]:
    """The options that add the property, where it is one of the command line: a replay needs them."""
    options = next((claim.options for claim in program.claims if claim.id == trace.claim), {})
    return {"options": dict(options)} if options else {}


def _variables(state: Any) -> dict[str, Any]:
    names = record_fields(type(state))
    return {"state": encode(state)} if names is None else {name: encode(getattr(state, name)) for name in names}


def recipe(document: Any) -> Recipe:
    """The recipe in a trace document; raises TraceError, naming the key that is missing, malformed or unknown."""
    about = _get(_get(document, "#meta", dict, ""), "kraftcheck", dict, "#meta")
    version = _get(about, "version", int, "#meta.kraftcheck")
    if version != FORMAT_VERSION:
        raise TraceError(f"key #meta.kraftcheck.version: {version} is not {FORMAT_VERSION}")
    _check_keys(document, _KEYS, "")
    _check_keys(about, _ABOUT, "#meta.kraftcheck.")
    for key, kind in (("kind", str), ("failing", list)):
        _get({key: kind(), **about}, key, kind, "#meta.kraftcheck")
    states = _get(document, "states", list, "")
    if not states:
        raise TraceError("key states: there is no state")
    parts: list[dict[str, Any]] = []
    for number, state in enumerate(states):
        _get(state, ACTION, str, f"states[{number}]")
        _get(state, PICKS, dict, f"states[{number}]")
        try:
            parts.append({key: normal(value) for key, value in state.items() if key not in ("#meta", ACTION)})
        except (ValueError, RecursionError) as error:
            raise TraceError(f"key states[{number}]: not ITF: {error}") from error
    bounds = _get(about, "bounds", dict, "#meta.kraftcheck")
    rules = about.get("rules")
    if not (rules is None or isinstance(rules, str)):
        raise TraceError("key #meta.kraftcheck.rules: not a string")
    return Recipe(
        system=_get(about, "system", str, "#meta.kraftcheck"),
        scope=_get(about, "scope", str, "#meta.kraftcheck"),
        bounds={key: _get(bounds, key, int, "#meta.kraftcheck.bounds") for key in bounds},
        rules=rules,
        property=_get(about, "property", str, "#meta.kraftcheck"),
        shortest=_get(about, "shortest", bool, "#meta.kraftcheck"),
        states=tuple({key: value for key, value in part.items() if key != PICKS} for part in parts),
        steps=tuple((state[ACTION], part[PICKS]) for state, part in zip(states[1:], parts[1:], strict=True)),
        loop=_get(document, "loop", int, "") if "loop" in document else None,
        options=_recorded_options(about),
    )


def _recorded_options(about: Mapping[str, Any]) -> dict[str, str]:
    options = _get(about, "options", dict, "#meta.kraftcheck") if "options" in about else {}
    _check_keys(options, (INVARIANT, WHEN, FIND), "#meta.kraftcheck.options.")
    return {name: _get(options, name, str, "#meta.kraftcheck.options") for name in options}


def _check_keys(document: Mapping[str, Any], known: Sequence[str], path: str) -> None:
    for key in document:
        if key not in known:
            raise TraceError(f"key {path}{key[:40]}: no such key; {nearest(key[:40], known)}")


def check_states(recipe_: Recipe, trace: Trace) -> None:
    """Refuse a document whose states are not those that the rules lead to.

    Raises:
        TraceError: naming the first state and field that differ.
    """
    for number, (expected, state) in enumerate(zip(recipe_.states, trace.states, strict=True)):
        actual = _variables(state)
        for key in [*actual, *(expected.keys() - actual.keys())]:
            if key not in expected or key not in actual:
                raise TraceError(f"key states[{number}].{key}: {'missing' if key in actual else 'no such field'}")
            if expected[key] != actual[key]:
                file_text, rules_text = json.dumps(expected[key]), json.dumps(actual[key])
                raise TraceError(
                    f"key states[{number}].{key}: the file says {file_text}, the rules lead to {rules_text}"
                )


def _get(document: Any, key: str, kind: type, path: str) -> Any:
    where = f"{path}.{key}" if path else key
    if not isinstance(document, dict) or key not in document:
        raise TraceError(f"key {where}: missing")
    value = document[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TraceError(f"key {where}: not {'an int' if kind is int else f'a {kind.__name__}'}")
    return value


def instances(recipe_: Recipe, program: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The packed initial state and the action instances that a recipe names.

    Raises:
        TraceError: when the system has no such initial state, action or argument.
    """
    initial = next((s for s in program.initial if _variables(program.layout.unpack(s)) == recipe_.states[0]), None)
    if initial is None:
        raise TraceError("key states[0]: not an initial state of the system at this setting")
    by_key = {}
    for number in range(program.instances):
        action, arguments = program.instance(number)
        by_key[_step_key(action.name, {k: encode(v) for k, v in arguments.items()})] = number
    numbers = []
    for number, (name, picks) in enumerate(recipe_.steps, start=1):
        instance = by_key.get(_step_key(name, picks))
        if instance is None:
            raise TraceError(f"key states[{number}]: {_unknown_step(name, picks, program)}")
        numbers.append(instance)
    return initial, tuple(numbers)


def _unknown_step(name: str, picks: Mapping[str, Any], program: Program) -> str:
    actions = {kind.action.name for kind in program.kinds}
    if name not in actions:
        return f"the system has no action {name!r}; {nearest(name, actions)}"
    return f"action {name} does not take the arguments {json.dumps(picks)}"


def _step_key(action: str, picks: Mapping[str, Any]) -> str:
    return action + json.dumps(picks, sort_keys=True)


def text(document: Mapping[str, Any]) -> str:
    """The document as text, one state a line, so that traces can be compared by line."""
    head = {key: value for key, value in document.items() if key != "states"}
    states = ",\n  ".join(json.dumps(state) for state in document["states"])
    return json.dumps(head, indent=1)[:-2] + f',\n "states": [\n  {states}\n ]\n}}\n'


def trace_document(verdict: Verdict | Trace) -> dict[str, Any] | None:
    """A counterexample as plain values; None for a verdict without one.

    A set is an ascending list. A record of one field is the value of that field, as in ITF.
    """
    trace = verdict.trace if isinstance(verdict, Refuted) else verdict
    if not isinstance(trace, Trace):
        return None
    return {
        "kind": trace.kind,
        "failing": list(trace.failing),
        "initial": _record(trace.initial),
        "steps": [_step(step) for step in trace.steps],
        "loop": loop_document(trace),
    }


def loop_document(trace: Trace) -> dict[str, Any] | None:
    """The cycle of a lasso, and how it satisfies each fairness constraint; None for other traces."""
    if trace.loop is None:
        return None
    fair = [{"name": o.name, "taken": list(o.taken), "disabled": list(o.disabled)} for o in trace.loop.fairness]
    return {"start": trace.loop.start, "fairness": fair}


def _step(step: TraceStep) -> dict[str, Any]:
    return {
        "action": step.action,
        "arguments": {name: _value(value) for name, value in step.arguments.items()},
        "state": _record(step.state),
        "event": None if step.event is None else _record(step.event),
    }


def _record(value: Any) -> Mapping[str, Any]:
    """A state or an event: its fields by name, also where there is one alone."""
    names = record_fields(type(value))
    return {"state": _value(value)} if names is None else {name: _value(getattr(value, name)) for name in names}


def _value(value: Any) -> Any:
    return _json(plain(value))


def _json(value: Any) -> Any:
    if isinstance(value, frozenset):
        records = any(isinstance(item, frozenset | list | SimpleNamespace) for item in value)
        return sorted((_json(item) for item in value), key=repr if records else None)
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, SimpleNamespace):
        return {name: _json(item) for name, item in vars(value).items()}
    return value if isinstance(value, bool | str) or value is None else int(value)
