"""Lemmas of `broker-ids`: why no two brokers come to have one id."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick
from kraftcheck.model.systems.broker_ids.state import CHOSEN, EXPLICIT, NONE, BrokerIds, Machine
from kraftcheck.properties.kinds import always


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state under right rules, and explored as such."""
    rules = setting.rules.broker_ids
    static = not (rules.fresh_ids_drawn or rules.identity_by_hostname or rules.identity_by_elimination)
    return (*_of_registration(setting), *(_of_static_ids(setting) if static else ()))


def claim(id: str, sentence: str, of: Callable[[BrokerIds, int, Machine], Truth]) -> Property:  # noqa: A002
    """The invariant that something holds of each machine, by its number."""
    return always(id, sentence, lambda s: {f"machine {n}": of(s, n, m) for n, m in enumerate(s.machines)})


def _of_registration(setting: Setting) -> tuple[Property, ...]:
    """They hold however ids are found."""
    if setting["session-losses"]:
        return ()
    return (
        claim("lemma-chosen-has-id", "a broker that is about to register has an id to register",
              lambda s, n, m: implies(m.status == CHOSEN, m.id >= 0)),
        claim("lemma-live-is-registered", "as long as no session is lost, the id of a live broker is registered by it",
              lambda s, n, m: implies(m.is_live(), pick(s.sessions, m.id, NONE) == n)),
    )  # fmt: skip


def _of_static_ids(setting: Setting) -> tuple[Property, ...]:
    """They hold where an id is configured, or on disk, and never found otherwise."""
    listed = [
        claim("lemma-chosen-id-is-explicit", "a broker registers the id of its configuration, else that of its disk",
              lambda s, n, m: implies(m.status == CHOSEN, all_of(
                  m.source == EXPLICIT, m.id >= 0, m.id == choose(m.configured >= 0, m.configured, m.meta)))),
        claim("lemma-configured-id-fits", "a broker that is about to register has no other id on its disk",
              lambda s, n, m: implies(m.status == CHOSEN, any_of(m.meta == NONE, m.meta == m.id))),
        claim("lemma-all-configured-or-none", "either every broker has an id in its configuration, or none has",
              lambda s, n, m: m.configured >= 0 if setting["configured"] else m.configured == NONE),
        claim("lemma-owner-has-its-disk", "a registered id is on no other disk, unless its owner is configured with it",
              lambda s, n, m: all_of(*(
                  implies(all_of(owner >= 0, negate(owner == n), m.meta == number),
                          pick(s.machines, owner, m).configured == number)
                  for number, owner in enumerate(s.sessions)))),
    ]  # fmt: skip
    if not setting["configured"]:
        listed.append(always("lemma-disks-differ", "where no id is configured, no two disks have one id", _differ))
    if setting["session-losses"]:
        listed.append(
            claim("lemma-live-id-on-disk", "the id of a live broker is on its disk",
                  lambda s, n, m: implies(m.is_live(), all_of(m.id >= 0, m.id == m.meta)))
        )  # fmt: skip
    return tuple(listed)


def _differ(s: BrokerIds) -> Truth:
    return all_of(*(negate(all_of(a.meta >= 0, a.meta == b.meta)) for a, b in combinations(s.machines, 2)))
