"""Names of a log that others may see: topics, hosts, racks and directories are numbered as they come.

The same log gets the same names each time, and no name can be guessed back. What nobody reads is left out: the values
of configurations that no rule asks for, what transactions are called, and whatever a record of another kind holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field

from kraftcheck.model.controller.state import MIN_ISR, UNCLEAN_ELECTION
from kraftcheck.model.partition.registration import is_reserved
from kraftcheck.model.records.fields import CODE, DirectoryTextError
from kraftcheck.solvers.logs.explain.state import ELR_SETTING, Batch, LogEntry, is_unread

INTERNAL = "__"  # how the topics of Kafka itself begin; these names tell nothing, and stay

_TOPIC_RESOURCE = 2
_DIRECTORY_CHARACTERS = 21
_TRANSACTIONS = ("BEGIN_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD")
_HOSTS = ("REGISTER_BROKER_RECORD", "REGISTER_CONTROLLER_RECORD")
_DIRECTORIES = ("directories", "logDirs", "cordonedLogDirs")


@define
class Aliases:
    """The names that stand for those of one log."""

    _names: dict[tuple[str, str], str] = field(factory=dict)
    _counts: dict[str, int] = field(factory=dict)

    def batch(self, batch: Batch) -> Batch:
        """The batch under other names; what the quorum writes for itself names nobody."""
        return batch if batch.control else evolve(batch, entries=tuple(map(self._entry, batch.entries)))

    def topic(self, name: str) -> str:
        """The name that stands for a topic's."""
        return name if name.startswith(INTERNAL) or not name else self._number("topic", name)

    def _entry(self, entry: LogEntry) -> LogEntry:
        data = entry.data
        if data is None or not isinstance(data, Mapping):
            return entry
        return evolve(entry, data={} if is_unread(entry) else self._renamed(entry.type, data))

    def _renamed(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        new = dict(data)
        if kind == "TOPIC_RECORD":
            self._rename(new, "name", self.topic)
        elif kind == "CLEAR_ELR_RECORD":
            self._rename(new, "topicName", self.topic)
        elif kind == "CONFIG_RECORD":
            if data.get("resourceType") == _TOPIC_RESOURCE:
                self._rename(new, "resourceName", self.topic)
            if data.get("name") not in (MIN_ISR, UNCLEAN_ELECTION, ELR_SETTING):
                self._rename(new, "value", lambda value: "")
        elif kind in _HOSTS:
            self._rename(new, "rack", lambda rack: self._number("rack", rack))
            ends = data.get("endPoints")
            new["endPoints"] = [self._end(end) for end in ends] if isinstance(ends, list) else ends
        elif kind in _TRANSACTIONS:
            new = {}
        for name in _DIRECTORIES:
            if isinstance(data.get(name), list):
                new[name] = [self._directory(one) if isinstance(one, str) else one for one in data[name]]
        return new

    def _rename(self, data: dict[str, Any], key: str, name: Callable[[str], str]) -> None:
        if isinstance(data.get(key), str):
            data[key] = name(data[key])

    def _end(self, end: Any) -> Any:
        if not isinstance(end, Mapping):
            return end
        new = dict(end)
        self._rename(new, "host", lambda host: self._number("host", host))
        return new

    def _directory(self, text: str) -> str:
        try:
            reserved = is_reserved(CODE.parse(text))
        except DirectoryTextError:  # no id, which whoever reads the record says
            return text
        return text if reserved else self._number("directory", text).ljust(_DIRECTORY_CHARACTERS, "_") + "A"

    def _number(self, kind: str, name: str) -> str:
        known = self._names.get((kind, name))
        if known is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._names[kind, name] = f"{kind}-{self._counts[kind]}"
        return known
