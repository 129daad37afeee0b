"""The page of a large cluster, made without replaying how it came about."""

from pathlib import Path

from kraftcheck.ci.logs.page import html
from kraftcheck.ci.logs.report import Summary, event_kind
from kraftcheck.solvers.drawings.log import LogDrawing

REPLICAS, IN_DANGER = 3, 100  # replicas of each partition; one of so many partitions has lost two of its ISR at the end


class _Large(LogDrawing):
    """A cluster whose topics were made in one batch each, and whose ISRs shrank in another."""

    def fill(self, brokers: int, partitions: int) -> None:
        """Draw it."""
        per_topic = partitions // 100
        for broker in range(brokers):
            self._brokers += [(0, broker, 3), (1, broker, 0)]
        for batch in range(2):
            event = (self._events[f"broker {batch} registers", "new_incarnation"], None)
            self._add_row((batch, 1, 1, f"large.log: byte {batch}", 1_795_301_431_780), [event], [])
        changed = []
        for topic in range(100):
            rows = []
            for index in range(per_topic):
                number = topic * per_topic + index
                replicas = tuple((number + step) % brokers for step in range(REPLICAS))
                name = self._partitions[f"topic-{topic}-{index}"]
                rows.append((name, self._states[replicas[0], replicas, replicas, (), 2], 0, index))
                if number % IN_DANGER == 0:
                    changed.append((name, self._states[replicas[0], replicas, replicas[:1], (), 2], 0, len(changed)))
            event = (self._events[f"create topic topic-{topic}", ""], None)
            self._add_row((2 + topic * per_topic, per_topic, 1, "large.log", None), [event], rows)
        event = (self._events["fence broker 1", "fence"], None)
        self._add_row((2 + partitions, len(changed), 1, "large.log", None), [event], changed)


def large_page(target: Path, brokers: int, partitions: int) -> Path:
    """Write the page of a cluster of so many brokers and partitions."""
    drawing = _Large(event_kind)
    drawing.fill(brokers, partitions)
    target.write_text(html(drawing, Summary("large", None), "the end is not worked out"), encoding="utf-8")
    return target
