"""The controller on ints as one side of the fuzz: it answers requests as texts, and goes on after a resignation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

from kraftcheck.ci.conformance.kafka.fuzz.texts import answer_text, image_text, record_text
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.configs import DEFAULTS, MIN_ISR, Configs
from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.controller.records import LogRecord
from kraftcheck.model.controller.sessions import taken_over
from kraftcheck.model.controller.state import Controller, Features, Outcome, Settings
from kraftcheck.model.partition.directories import DirectoryMismatch
from kraftcheck.model.records.records import TopicRecord
from kraftcheck.model.records.replay import ClusterImage, ReplayError
from kraftcheck.model.rules.ruleset import RuleSet

CLUSTER = "cluster"
"""The cluster id of both sides."""

CORDONING = "4.3"
"""The first release whose metadata has cordoned directories."""

RESIGNED, HALTED = "resign", "halt"
"""Answers of a controller that another one replaces, and of a log that no controller can replay."""

Decided = tuple[Outcome[Any], str]
"""What a request decides, and its reply as text."""

Decide = Callable[[Controller, RuleSet], Decided]


@frozen
class Request:
    """One request, or one event of the controller.

    Attributes:
        line: its text, as `FuzzDriver.java` reads it.
        decide: what the model decides; None for what only changes the controller itself.
        changed: the controller after an event without records.
        arrived: the controller once the request is there, before anything of it is checked.
        after: the text of a last record that switches a feature, and the controller once it is replayed.
    """

    line: str
    decide: Decide | None = None
    changed: Callable[[Controller, RuleSet], Controller] | None = None
    arrived: Callable[[Controller, RuleSet], Controller] = lambda controller, _: controller
    after: tuple[str, Callable[[Controller], Controller]] | None = None

    @property
    def kind(self) -> str:
        """Its kind: the first word."""
        return self.line.partition(" ")[0]


@define
class ModelController:
    """The model's side of a sequence.

    Attributes:
        rules: the rule set.
        controller: the active controller.
        topics: the number of each topic id, in the order of creation.
        halted: whether its log cannot be replayed.
    """

    rules: RuleSet
    controller: Controller
    topics: dict[str, int] = field(factory=dict)
    halted: bool = False

    @classmethod
    def start(cls, version: str, rules: RuleSet, elr: bool) -> ModelController:
        """A controller without topics and brokers; its log has the metadata version, and what switches ELR on."""
        late, cordons = not version.startswith("3."), version >= CORDONING
        features = Features(elr_supported=late, clear_elr=late, elr_enabled=elr, cordoning=cordons)
        configs = Configs(cluster={MIN_ISR: DEFAULTS[MIN_ISR]} if elr else {})
        image = ClusterImage(next_offset=3 if elr else 1)
        return cls(rules, Controller(image, configs=configs, features=features, settings=Settings(CLUSTER)))

    def answer(self, request: Request) -> str:
        """The answer to a request; the controller is the one after it."""
        if self.halted:
            return HALTED
        if request.line == "image":
            return answer_text(image_text(self.controller, self.topics), ())
        if request.changed is not None:
            self.controller = request.changed(self.controller, self.rules)
            return answer_text("", ())
        if request.decide is None:
            raise TypeError(f"nobody decides {request.line}")
        self.controller = request.arrived(self.controller, self.rules)
        try:
            outcome, reply = request.decide(self.controller, self.rules)
        except RequestError as refusal:
            return f"error {refusal.error}"
        except (Resignation, DirectoryMismatch):
            self.controller = failed_over(self.controller, self.rules)
            return RESIGNED
        try:
            self.controller = commit(self.controller, outcome, self.rules)
        except ReplayError:
            self.halted = True
            return HALTED
        self._number(outcome.records)
        texts = [record_text(record, self.topics) for record in outcome.records]
        if request.after is not None:
            text, switched = request.after
            texts.append(text)
            self.controller = switched(self.controller)
        return answer_text(reply, texts)

    def _number(self, records: tuple[LogRecord, ...]) -> None:
        for record in records:
            if isinstance(record, TopicRecord):
                self.topics[record.topic_id] = len(self.topics)


def failed_over(controller: Controller, rules: RuleSet) -> Controller:
    """Another controller takes over: all that it knows is in the log; both placed replicas by one random stream."""
    return taken_over(controller, rules.controller)
