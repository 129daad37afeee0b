"""State of the `elr-index` system: one topic of one partition, and what the index of ELR members lists.

The index lists partitions for brokers. A broker whose ELR was emptied by ClearElrRecord stays listed; how often does
not matter, since a list of partition 0 alone never loses more entries than it gains: what Kafka's shortened array holds
beyond its entries reads as partition 0 again. Source: `BrokersToElrs`.
"""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import subset_of, truth
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.systems.elections import state as elections
from kraftcheck.model.systems.elections.state import Elections


@frozen
class ElrIndexed:
    """The topic and the index."""

    # its partition and the brokers; without the topic, the partition of the next topic of that name
    controller: Elections
    exists: Truth  # whether there is the topic
    left: BrokerSet  # brokers that are listed for it although their ELR was emptied
    dead: BrokerSet  # brokers that are listed for a topic that is deleted


def layout(setting: Setting) -> ElrIndexed:
    """The domain of each field."""
    some = BrokerSet(subset_of(setting["brokers"]))
    return ElrIndexed(elections.layout(setting), truth(), some, some)


def initial(setting: Setting) -> list[ElrIndexed]:
    """A new topic on live brokers, which the index does not list."""
    return [ElrIndexed(state, True, BrokerSet(), BrokerSet()) for state in elections.initial(setting)]
