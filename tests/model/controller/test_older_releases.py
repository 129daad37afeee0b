"""What controllers before 3.9 did otherwise, as logs of 3.0 to 3.8 show it."""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.controller.brokers import RegistrationContext, RegistrationRequest, register_broker
from kraftcheck.model.controller.elections import elect_unclean
from kraftcheck.model.controller.state import ConfigRecord, Configs
from kraftcheck.model.controller.topics import CreateTopicsRequest, NewTopic, create_topics
from kraftcheck.model.records.records import Feature, TopicRecord
from kraftcheck.model.rules.ruleset import parse
from tests.model.controller.controllers import changed, cluster, directory, with_topic

LATER = parse("kafka-3.9.2")


def test_an_epoch_and_the_records_of_the_quorum_before_it() -> None:
    """Until 3.5 what the quorum wrote for itself just before a registration is not counted; what is older is."""
    base, old = cluster(1), parse("kafka-3.9.2+epoch-passes-over-quorum")
    end = base.image.next_offset
    request = RegistrationRequest(
        "cluster", 7, "first", features=(Feature("metadata.version", 1, 11),), dirs=(directory(7),)
    )

    def epoch(quorum: tuple[int, int], rules=old) -> int:
        taking = evolve(base, soft=evolve(base.soft, quorum=quorum))
        return register_broker(taking, request, RegistrationContext(), rules).response

    assert epoch((end - 2, end)) == end - 2
    assert epoch((end - 3, end - 1)) == end
    assert epoch((end - 2, end), LATER) == end


def test_configurations_of_a_new_topic_and_the_topic() -> None:
    """Until 3.3 they are written first, later the topic."""
    asked = CreateTopicsRequest((NewTopic("bar", 1, 1, config={"retention.ms": "1"}),))
    kinds = [type(one) for one in create_topics(cluster(1), asked, LATER).records[:2]]
    assert kinds == [TopicRecord, ConfigRecord]
    old = parse("kafka-3.9.2+topic-configs-written-first")
    assert [type(one) for one in create_topics(cluster(1), asked, old).records[:2]] == kinds[::-1]


def test_an_unclean_election_that_is_configured() -> None:
    """The timer holds it from 3.9 on; until 3.8 the setting is stored and not obeyed."""
    base = changed(with_topic(cluster(3, fenced=(0,)), "foo", (0, 1)), leader=-1, isr=(0,))
    base = evolve(base, configs=Configs({"foo": {"unclean.leader.election.enable": "true"}}))
    assert len(elect_unclean(base, LATER).records) == 1
    assert elect_unclean(base, parse("kafka-3.9.2+unclean-election-unconfigurable")).records == ()
