"""Lemmas of `elections`: what must hold besides its invariants for them to be inductive."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from kraftcheck.model.language.anynumber import each_broker
from kraftcheck.model.language.system import ANY, Conjuncts, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import EMPTY, NO_LEADER, all_of, any_of, implies, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.elections import elr as eligibility
from kraftcheck.properties.elections import leadership
from kraftcheck.properties.elections import registration as shape
from kraftcheck.properties.elections.outsiders import working
from kraftcheck.properties.kinds import always


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state, and explored as such."""
    claims = (
        always("lemma-vacant-slots-last", "the replica list has no gap", _no_gap),
        always("lemma-last-known-is-no-vacancy", "the last-known list never holds -1",
               lambda s: negate(s.last_known_elr.slot == NO_LEADER)),
        always("lemma-elr-needs-the-feature", "while ELR was never on, the ELR and the last-known list are empty",
               lambda s: {"ELR": any_of(s.elr_enabled, s.elr.is_empty()),
                          "last known": any_of(s.elr_enabled, s.last_known_elr.slot == EMPTY)}),
        always("lemma-last-known-beside-no-isr", "a last known leader is kept only while the ISR has no member",
               lambda s: any_of(s.last_known_elr.is_empty(), s.isr.is_empty())),
        always("lemma-isr-active-unless-alone", "an ISR member that is not active is the only one",
               lambda s: any_of(s.isr.size() <= 1, s.isr.within(working(s)))),
        always("lemma-isr-active-beside-elr", "while the ELR has a member, every ISR member is active",
               lambda s: any_of(s.elr.is_empty(), s.isr.within(working(s)))),
        always("lemma-isr-online-unless-alone", "an ISR member on a directory told offline is the only one",
               lambda s: _isr_online(s, s.isr.size() > 1)),
        always("lemma-isr-online-beside-elr", "beside an ELR member no ISR member is on a directory told offline",
               lambda s: _isr_online(s, negate(s.elr.is_empty()))),
        always("lemma-one-directory-online", "a broker's one directory is online, and its replica nowhere else",
               _one_online),
    )  # fmt: skip
    # With one directory there is nothing to know; and what is believed of several may be wrong.
    no_online = setting["directories"] == 1 or setting.rules.partition.one_directory_means_all_online
    absent = {
        "lemma-vacant-slots-last": setting["brokers"] == ANY,  # there are no slots
        "lemma-elr-needs-the-feature": setting.rules.partition.elr_downgrade,  # ELR may have been on before
        "lemma-isr-online-unless-alone": no_online,
        "lemma-isr-online-beside-elr": no_online,
        "lemma-one-directory-online": setting["directories"] > 1 or setting.bounds.get("reserved", 0) > 0,
    }
    return tuple(claim for claim in claims if not absent.get(claim.id, False))


def _one_online(s: Elections) -> Conjuncts:
    """A broker that is not registered has none online, but its replicas are assigned to none else, either."""

    def online(broker: Word) -> Truth:
        return implies(s.registered.has(broker), s.dirs_of(broker).has(0))

    def placed(broker: Word) -> Truth:
        directory = s.directories.of(broker)
        return implies(s.replicas.has(broker), all_of(negate(directory == LOST), directory <= FIRST_LOCAL))

    directories, replicas = each_broker(s.online_dirs, online), each_broker(s.online_dirs, placed)
    return {
        **{f"directory of {broker}": truth for broker, truth in directories.items()},
        **{f"replica of {broker}": truth for broker, truth in replicas.items()},
    }


def _isr_online(s: Elections, required: Truth) -> Conjuncts:
    return leadership.online(s, lambda b: all_of(required, s.isr.has(b)))


def _no_gap(s: Elections) -> Conjuncts:
    return {
        f"slot {i} before slot {i + 1}": implies(a == NO_LEADER, b == NO_LEADER)
        for i, (a, b) in enumerate(itertools.pairwise(s.replicas.slots))
    }


def of_controller(setting: Setting) -> list[Property]:
    """The invariants and lemmas of `elections` as lemmas of a system whose states have a `controller`."""
    known = [*shape.properties(setting), *leadership.properties(setting), *eligibility.properties(setting)]
    claims = [claim for claim in known if claim.kind == "always"] + list(lemmas(setting))
    return [
        always(f"lemma-controller-{claim.id.removeprefix('lemma-')}", f"of the controller: {claim.sentence}",
               functools.partial(_of_controller, claim), claim.source)
        for claim in claims
    ]  # fmt: skip


def _of_controller(claim: Property, state: Any) -> Truth | Conjuncts:
    return claim.predicate(state.controller)
