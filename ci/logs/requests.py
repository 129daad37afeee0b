"""Requests to a controller as an operator types them, and as the controller takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.controller import partitions
from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import HeartbeatRequest, heartbeat, unregister
from kraftcheck.model.controller.elections import PREFERRED, UNCLEAN, elect_leaders
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.state import CLUSTER, DEFAULTS, NODE, TOPIC, ConfigRecord, Controller, Outcome, Place
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.nearest import nearest
from kraftcheck.model.records.fields import CODE, DirectoryTextError
from kraftcheck.model.rules.ruleset import RuleSet

Handler: TypeAlias = Callable[[Controller, RuleSet], Outcome[Any]]
"""A request, to be answered by a controller under a rule set."""

FORMS = {
    "alter-partition": "TOPIC-N isr=1,2 [from=BROKER] [broker-epoch=N] [leader-epoch=N] [partition-epoch=N] "
    "[recovering=true]",
    "reassign": "TOPIC-N replicas=1,2,3, or TOPIC-N cancel",
    "elect": "TOPIC-N [type=preferred|unclean], or all [type=...]",
    "alter-configs": "topic:NAME|broker:N|cluster KEY=VALUE; KEY= removes",
    "unregister": "BROKER",
    "heartbeat": "BROKER [fence=true] [shutdown=true] [offset=N] [epoch=N] [offline=DIRECTORY,...]",
}
"""The requests that can be asked, and their words."""


STEPS = ("start", "restart", "stop", "kill", "lose")  # what an operator does to a broker, and asks no controller for


@frozen
class RequestWords:
    """The words of a request."""

    kind: str  # which request
    target: str  # what it is about
    values: Mapping[str, str]  # what else it says, by name

    @classmethod
    def of(cls, words: Sequence[str]) -> RequestWords:
        """The words, told apart; raises Refusal for what is no request, and for a word that it does not take."""
        kind, *rest = words
        if kind not in FORMS:
            if kind in STEPS:
                told = "`kraftcheck status LOG` tells what follows it, and `ask LOG heartbeat BROKER` what is answered"
                raise Refusal(f"{kind} is no request to the controller; {told} once the broker is back")
            raise Refusal(f"unknown request {kind!r}; {nearest(kind, FORMS)}")
        form = FORMS[kind]
        if not rest:
            raise Refusal(f"{kind} takes {form}")
        target, *others = rest
        known = {"cancel", *re.findall(r"([a-z-]+)=", form)} if kind != "alter-configs" else set()
        values: dict[str, str] = {}
        for word in others:
            name, equals, value = word.partition("=")
            if kind != "alter-configs" and (name not in known or bool(equals) == (name == "cancel")):
                raise Refusal(f"{kind} does not take {word!r}; it takes {form}")
            if not equals and kind == "alter-configs":
                raise Refusal(f"{word!r} is no KEY=VALUE; {kind} takes {form}")
            if name in values:
                raise Refusal(f"{name} is given twice; give it once")
            values[name] = value
        return cls(kind, target, values)

    def number(self, name: str, otherwise: int) -> int:
        """A whole number."""
        return _whole(name, self.values[name]) if name in self.values else otherwise

    def members(self, name: str) -> tuple[int, ...]:
        """Brokers, joined by commas."""
        if name not in self.values:
            raise Refusal(f"{self.kind} takes {FORMS[self.kind]}")
        return tuple(_whole(name, part) for part in self.values[name].split(",")) if self.values[name] else ()

    def each(self, name: str) -> tuple[int, ...]:
        """Brokers, none twice."""
        found = self.members(name)
        for broker in found:
            if found.count(broker) > 1:
                raise Refusal(f"{name} names broker {broker} twice; name it once")
        return found

    def flag(self, name: str) -> bool:
        """Whether something is so; False by default."""
        return self.choice(name, ("false", "true")) == "true"

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of some words, the first by default."""
        value = self.values.get(name, choices[0])
        if value not in choices:
            raise Refusal(f"{name} is {value!r}, none of {', '.join(choices)}")
        return value


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise Refusal(f"{name} takes a whole number, not {text!r}")
    return int(text)


def _place(controller: Controller, words: RequestWords) -> Place:
    known = {f"{controller.topic(place.topic_id).name}-{place.index}": place for place in controller.places()}
    if words.target not in known:
        raise Refusal(f"no partition {words.target!r}; {nearest(words.target, known)}")
    return known[words.target]


def _broker(controller: Controller, name: str, text: str) -> int:
    """A broker that is registered."""
    broker = _whole(name, text)
    if controller.registration(broker) is None:
        listed = ", ".join(map(str, sorted(controller.image.registrations))) or "none"
        raise Refusal(f"broker {broker} is not registered where the log ends; registered: {listed}")
    return broker


def _alter_partition(controller: Controller, words: RequestWords) -> Handler:
    place = _place(controller, words)
    p = place.partition
    if "from" not in words.values and p.leader == NO_LEADER:
        raise Refusal(f"{words.target} has no leader that could ask; say from=BROKER")
    sender = _broker(controller, "from", words.values.get("from", str(int(p.leader))))
    known = controller.image.registrations
    members = tuple((b, known[b].epoch if b in known else partitions.UNCHECKED) for b in words.each("isr"))
    proposal = partitions.Proposal(
        place.topic_id, place.index, words.number("leader-epoch", int(p.leader_epoch)),
        words.number("partition-epoch", int(p.partition_epoch)), members, words.flag("recovering"),
    )  # fmt: skip
    request = partitions.AlterPartitionRequest(sender, words.number("broker-epoch", known[sender].epoch), (proposal,))
    return lambda at, rules: partitions.alter_partition(at, request, rules)


def _reassign(controller: Controller, words: RequestWords) -> Handler:
    place = _place(controller, words)
    if ("cancel" in words.values) == ("replicas" in words.values):
        raise Refusal(f"reassign takes {FORMS['reassign']}")
    replicas = None if "cancel" in words.values else words.members("replicas")
    row = partitions.Reassignment(controller.topic(place.topic_id).name, place.index, replicas)
    return lambda at, rules: partitions.reassign(at, (row,), rules)


def _elect(controller: Controller, words: RequestWords) -> Handler:
    kind = {"preferred": PREFERRED, "unclean": UNCLEAN}[words.choice("type", ("preferred", "unclean"))]
    if words.target == "all":
        return lambda at, rules: elect_leaders(at, kind, None, rules)
    place = _place(controller, words)
    return lambda at, rules: elect_leaders(at, kind, ((at.topic(place.topic_id).name, place.index),), rules)


def _alter_configs(controller: Controller, words: RequestWords) -> Handler:
    scope, _, name = words.target.partition(":")
    if scope not in ("topic", "broker", "cluster") or bool(name) == (scope == "cluster") or len(words.values) != 1:
        raise Refusal(f"alter-configs takes {FORMS['alter-configs']}")
    ((key, value),) = words.values.items()
    if key not in DEFAULTS:  # the controller checks its values, by rules that no decision here rests on
        raise Refusal(f"what {key!r} of a {scope} is checked for is not modelled; {nearest(key, frozenset(DEFAULTS))}")
    record = ConfigRecord({"topic": TOPIC, "broker": NODE, "cluster": CLUSTER}[scope], name, key, value or None)
    return lambda at, rules: alter_config(at, record, rules)


def _unregister(controller: Controller, words: RequestWords) -> Handler:
    if words.values:
        raise Refusal(f"unregister takes {FORMS['unregister']}")
    broker = _whole("unregister", words.target)
    return lambda at, rules: unregister(at, broker, rules)


def _heartbeat(controller: Controller, words: RequestWords) -> Handler:
    broker = _broker(controller, "heartbeat", words.target)
    wish = Wish(words.flag("fence"), words.flag("shutdown"), words.number("offset", controller.image.next_offset - 1))
    try:
        named = tuple(word for word in words.values.get("offline", "").split(",") if word)
        lost = tuple(CODE.parse(word) for word in named)
    except DirectoryTextError as error:
        raise Refusal(f"offline names a directory as the log does: {error}") from error
    request = HeartbeatRequest(broker, words.number("epoch", controller.image.registrations[broker].epoch), wish, lost)
    return lambda at, rules: heartbeat(at, request, rules)


_HANDLERS: Mapping[str, Callable[[Controller, RequestWords], Handler]] = {
    "alter-partition": _alter_partition, "reassign": _reassign, "elect": _elect, "alter-configs": _alter_configs,
    "unregister": _unregister, "heartbeat": _heartbeat,
}  # fmt: skip


def handler(controller: Controller, words: Sequence[str]) -> Handler:
    """The request of some words, the rest as the state has it; raises Refusal for none, or what is not there."""
    asked = RequestWords.of(words)
    return _HANDLERS[asked.kind](controller, asked)
