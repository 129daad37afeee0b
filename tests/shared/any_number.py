"""Published protocols for any number of participants, each with the switch of a defect, and with what is inductive."""

from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc

INIT, COMMITTED, ABORTED = range(3)
NOBODY = -1


@frozen
class Lease:
    """Who is fenced, and who leads."""

    fenced: Any
    leader: kc.Word


def lease(forgets: bool = False) -> kc.System:
    """A lease that a fenced broker loses; or, with the defect, that is forgotten."""

    def fence(state: Lease, broker: kc.Word) -> Lease:
        leader = state.leader if forgets else kc.choose(state.leader == broker, NOBODY, state.leader)
        return Lease(state.fenced.plus(state.fenced.just(broker)), leader)

    def unfence(state: Lease, broker: kc.Word) -> Lease:
        leader = kc.choose(state.leader == NOBODY, broker, state.leader)
        return Lease(state.fenced.minus(state.fenced.just(broker)), leader)

    def initial(setting: kc.Setting) -> list[Any]:
        if setting["brokers"] == kc.ANY:
            return [kc.all_where(lambda state: {"nobody leads": state.leader == NOBODY})]
        return [Lease(kc.IntSet.of(range(setting["brokers"])), NOBODY)]

    return kc.System(
        name="lease",
        summary="One leader among any number of brokers that may be fenced.",
        bounds=[kc.Bound("brokers", 2, 5, "number of brokers", takes_any=True)],
        scopes={"default": {"brokers": 3}},
        layout=lambda setting: Lease(kc.set_below(setting["brokers"]), kc.word_below(setting["brokers"], NOBODY)),
        initial=initial,
        actions=lambda setting: [
            kc.Action("fence", fence, lambda state, broker: kc.negate(state.fenced.has(broker)),
                      {"broker": kc.numbers_below(setting["brokers"])}),
            kc.Action("unfence", unfence, lambda state, broker: state.fenced.has(broker),
                      {"broker": kc.numbers_below(setting["brokers"])}),
        ],
        properties=[
            kc.always("leader-unfenced", "a fenced broker does not lead",
                      lambda state: kc.negate(state.fenced.has(state.leader))),
        ],
    )  # fmt: skip


@frozen
class Commit:
    """Two-phase commit: what each resource manager is (in no set: working), what is sent, and what is heard."""

    managers: Any
    prepared: Any
    committed: Any
    aborted: Any
    promised: Any
    heard: Any
    decision: kc.Word


def _joins(state: Commit, name: str, manager: kc.Word) -> Commit:
    """The state after a manager has moved into one of the three sets."""
    one, sets = state.managers.just(manager), ("prepared", "committed", "aborted")
    left = {each: getattr(state, each).minus(one) for each in sets}
    return evolve(state, **{**left, name: getattr(state, name).plus(one)})


def two_phase(enough: int = 0) -> kc.System:
    """Gray and Lamport's two-phase commit, "Consensus on transaction commit" (2006), one message for each decision.

    With the defect, so many promises are enough where everybody's are needed.
    """

    def initial(setting: kc.Setting) -> list[Any]:
        if setting["managers"] == kc.ANY:
            sets = ("prepared", "committed", "aborted", "promised", "heard")
            return [kc.all_where(lambda state: {
                **{f"{name} is empty": getattr(state, name).is_empty() for name in sets},
                "undecided": state.decision == INIT, "there is a manager": kc.negate(state.managers.is_empty()),
            })]  # fmt: skip
        none = kc.IntSet()
        return [Commit(kc.IntSet.of(range(setting["managers"])), none, none, none, none, none, INIT)]

    def working(state: Commit, manager: kc.Word) -> dict[str, Any]:
        moved = (state.prepared, state.committed, state.aborted)
        return {"takes part": state.managers.has(manager), "works": kc.none_of(*(s.has(manager) for s in moved))}

    def prepare(state: Commit, manager: kc.Word) -> Commit:
        promised = state.promised.plus(state.promised.just(manager))
        return evolve(_joins(state, "prepared", manager), promised=promised)

    def hear(state: Commit, manager: kc.Word) -> Commit:
        return evolve(state, heard=state.heard.plus(state.heard.just(manager)))

    def may_commit(state: Commit) -> dict[str, Any]:
        promised = state.heard.size() >= enough if enough else state.managers.within(state.heard)
        return {"undecided": state.decision == INIT, "enough have promised": promised}

    def actions(setting: kc.Setting) -> list[kc.Action]:
        manager = {"manager": kc.numbers_below(setting["managers"])}
        return [
            kc.Action("prepare", prepare, working, manager),
            kc.Action("give_up", lambda s, manager: _joins(s, "aborted", manager), working, manager),
            kc.Action("hear", hear, lambda s, manager: {
                "undecided": s.decision == INIT, "has promised": s.promised.has(manager)}, manager),
            kc.Action("decide_to_commit", lambda s: evolve(s, decision=COMMITTED), may_commit),
            kc.Action("decide_to_abort", lambda s: evolve(s, decision=ABORTED), lambda s: s.decision == INIT),
            kc.Action("commit", lambda s, manager: _joins(s, "committed", manager), lambda s, manager: {
                "decided": s.decision == COMMITTED, "takes part": s.managers.has(manager)}, manager),
            kc.Action("abort", lambda s, manager: _joins(s, "aborted", manager), lambda s, manager: {
                "decided": s.decision == ABORTED, "takes part": s.managers.has(manager)}, manager),
        ]  # fmt: skip

    return kc.System(
        name="two-phase-commit",
        summary="Resource managers that commit together, or abort together.",
        bounds=[kc.Bound("managers", 2, 5, "number of resource managers", takes_any=True)],
        scopes={"default": {"managers": 3}},
        layout=lambda setting: Commit(*[kc.set_below(setting["managers"])] * 6, kc.ints(INIT, ABORTED)),
        initial=initial,
        actions=actions,
        properties=[
            kc.always("consistent", "nobody aborts where another commits",
                      lambda s: kc.any_of(s.aborted.is_empty(), s.committed.is_empty())),
        ],
        lemmas=[
            kc.always("committed-by-decision", "who has committed was told so",
                  lambda s: kc.any_of(s.committed.is_empty(), s.decision == COMMITTED)),
            kc.always("heard-is-promised", "who is heard has promised", lambda s: s.heard.within(s.promised)),
            kc.always("decided-when-all-promised", "a commit is decided when every manager has promised",
                  lambda s: kc.implies(s.decision == COMMITTED, s.managers.within(s.promised))),
            kc.always("a-promise-binds", "who has promised does not give up by itself",
                  lambda s: kc.implies(s.decision != ABORTED, s.promised.keep(s.aborted).is_empty())),
            kc.always("promised-has-moved", "who has promised does not work any more",
                  lambda s: s.promised.within(s.prepared.plus(s.committed).plus(s.aborted))),
            kc.always("managers-abort", "who aborts takes part", lambda s: s.aborted.within(s.managers)),
        ],
    )  # fmt: skip


@frozen
class Ring:
    """A ring of nodes 0..nodes-1 with a token that goes down: who is active, who is black, and where the token is.

    There are fewer nodes than the bound says.
    """

    nodes: kc.Word
    active: Any
    black: Any
    token: kc.Word
    token_black: kc.Truth


def ewd_840(blackens: bool = True) -> kc.System:
    """Dijkstra, Feijen and van Gasteren's detection of termination, EWD 840 (1983).

    With the defect, who sends a message to a node that the token has passed stays white.
    """

    def initial(setting: kc.Setting) -> list[Any]:
        if setting["nodes"] == kc.ANY:
            return [kc.all_where(lambda s: {
                "the token is black": s.token_black, "it is on the ring": kc.all_of(s.token >= 0, s.token < s.nodes),
                "nodes are on the ring": kc.each(s.active.plus(s.black), lambda node: node < s.nodes),
            })]  # fmt: skip
        count = setting["nodes"] - 1
        sets = range(1 << count)
        return [Ring(count, kc.IntSet(a), kc.IntSet(b), t, True) for a in sets for b in sets for t in range(count)]

    def begin(s: Ring) -> Ring:
        return evolve(s, token=s.nodes - 1, token_black=False, black=s.black.minus(s.black.just(0)))

    def may_begin(s: Ring) -> dict[str, Any]:
        return {"the token is back": s.token == 0, "it shows nothing": s.token_black | s.black.has(0)}

    def passes(s: Ring) -> Ring:
        dark = kc.any_of(s.token_black, s.black.has(s.token))
        return evolve(s, token=s.token - 1, token_black=dark, black=s.black.minus(s.black.just(s.token)))

    def may_pass(s: Ring) -> dict[str, Any]:
        done = kc.any_of(kc.negate(s.active.has(s.token)), s.black.has(s.token), s.token_black)
        return {"it goes on": s.token > 0, "its node is done": done}

    def send(s: Ring, node: kc.Word, other: kc.Word) -> Ring:
        darker = s.black.plus(s.black.just(kc.choose(other > node, node, NOBODY)))
        return evolve(s, active=s.active.plus(s.active.just(other)), black=darker if blackens else s.black)

    def terminated(s: Ring) -> Any:
        seen = kc.all_of(s.token == 0, kc.none_of(s.token_black, s.black.has(0), s.active.has(0)))
        return kc.implies(seen, s.active.is_empty())

    def dijkstra(s: Ring) -> Any:
        quiet = kc.each(s.active, lambda node: node <= s.token)
        return kc.any_of(quiet, kc.some(s.black, lambda node: node <= s.token), s.token_black)

    def actions(setting: kc.Setting) -> list[kc.Action]:
        node = kc.numbers_below(setting["nodes"])
        return [
            kc.Action("begin", begin, may_begin),
            kc.Action("pass", passes, may_pass),
            kc.Action("send", send, lambda s, node, other: {
                "is active": s.active.has(node), "is on the ring": other < s.nodes}, {"node": node, "other": node}),
            kc.Action("finish", lambda s, node: evolve(s, active=s.active.minus(s.active.just(node))),
                      lambda s, node: s.active.has(node), {"node": node}),
        ]  # fmt: skip

    def layout(setting: kc.Setting) -> Ring:
        count = setting["nodes"]
        return Ring(kc.word_below(count, 1), kc.set_below(count), kc.set_below(count), kc.word_below(count), kc.truth())

    return kc.System(
        name="ewd-840",
        summary="Termination of a ring of any number of nodes, detected by a token.",
        bounds=[kc.Bound("nodes", 3, 5, "more than the nodes", takes_any=True)],
        scopes={"default": {"nodes": 4}},
        layout=layout,
        initial=initial,
        actions=actions,
        quiescent=lambda s: s.active.is_empty(),
        properties=[kc.always("detected", "who sees that all is over is right", terminated)],
        lemmas=[
            kc.always("dijkstra", "active nodes are below the token, or a black one, or it is black", dijkstra),
            kc.always("on-the-ring", "active and black nodes, and the token, are on the ring", lambda s: kc.all_of(
                s.token < s.nodes, kc.each(s.active.plus(s.black), lambda node: node < s.nodes))),
        ],
    )  # fmt: skip


@frozen
class Votes:
    """Who has voted, and who is next."""

    voted: Any
    next: kc.Word


def _turns() -> kc.System:
    """Clients that vote in turn; the last one does once three others have."""

    def initial(setting: kc.Setting) -> list[Any]:
        count = setting["clients"]
        none = kc.all_where(lambda s: {"the first is next": s.next == 0, "nobody has voted": kc.each(
            kc.keys(s.voted), lambda client: kc.get(s.voted, client) == 0)})  # fmt: skip
        return [none] if count == kc.ANY else [Votes((0,) * count, 0)]

    def votes(s: Votes) -> Any:
        return kc.put(s.voted, s.next, 1)

    return kc.System(
        name="turns",
        summary="Clients that vote in turn.",
        bounds=[kc.Bound("clients", 2, 6, "number of clients", takes_any=True)],
        scopes={"default": {"clients": 2}},
        layout=lambda setting: Votes(
            kc.map_below(setting["clients"], kc.ints(0, 1)), kc.word_below(setting["clients"])),
        initial=initial,
        actions=lambda setting: [
            kc.Action("vote", lambda s, other: Votes(votes(s), other), lambda s, other: other == s.next + 1,
                      {"other": kc.numbers_below(setting["clients"])}),
            kc.Action("close", lambda s: evolve(s, voted=votes(s)), lambda s: {
                "is the last": kc.negate(kc.some(kc.keys(s.voted), lambda client: client == s.next + 1)),
                "three have voted": s.next >= 3}),
        ],
        quiescent=lambda s: True,
        properties=[
            kc.always("somebody-waits", "who is next has not voted", lambda s: kc.some(
                kc.keys(s.voted), lambda client: kc.all_of(client == s.next, kc.get(s.voted, client) == 0))),
            kc.always("in-turn", "nobody behind has voted", lambda s: kc.each(
                kc.keys(s.voted), lambda client: kc.any_of(client <= s.next, kc.get(s.voted, client) == 0))),
        ],
    )  # fmt: skip


@frozen
class Ballot:
    """For whom each has voted, and who leads."""

    votes: Any
    leaders: Any

    def has_won(self, candidate: kc.Word, half: bool) -> kc.Truth:
        """Whether a candidate has more than half of all votes, or half of them."""
        voters = kc.keys(self.votes)
        twice, everybody = 2 * self.of(candidate), kc.count(voters, lambda _: True)
        return twice >= everybody if half else twice > everybody

    def of(self, candidate: kc.Word) -> kc.Word:
        """How many votes a candidate has."""
        return kc.count(kc.keys(self.votes), lambda voter: kc.get(self.votes, voter) == candidate)


def majority(half: bool = False) -> kc.System:
    """Who has most of the votes leads; each votes once."""

    def initial(setting: kc.Setting) -> list[Any]:
        count = setting["voters"]
        if count != kc.ANY:
            return [Ballot((NOBODY,) * count, kc.IntSet())]
        return [kc.all_where(lambda s: {"nobody leads": s.leaders.is_empty(), "nobody has voted": kc.each(
            kc.keys(s.votes), lambda voter: kc.get(s.votes, voter) == NOBODY)})]  # fmt: skip

    def actions(setting: kc.Setting) -> list[kc.Action]:
        who = kc.numbers_below(setting["voters"])
        return [
            kc.Action("vote", lambda s, voter, candidate: evolve(s, votes=kc.put(s.votes, voter, candidate)),
                      lambda s, voter, candidate: kc.get(s.votes, voter) == NOBODY, {"voter": who, "candidate": who}),
            kc.Action("win", lambda s, candidate: evolve(s, leaders=s.leaders.plus(s.leaders.just(candidate))),
                      lambda s, candidate: s.has_won(candidate, half), {"candidate": who}),
        ]  # fmt: skip

    return kc.System(
        name="majority",
        summary="Voters of whom most elect a leader.",
        bounds=[kc.Bound("voters", 1, 6, "number of voters", takes_any=True)],
        scopes={"default": {"voters": 3}},
        layout=lambda setting: Ballot(
            kc.map_below(setting["voters"], kc.word_below(setting["voters"], NOBODY)), kc.set_below(setting["voters"])),
        initial=initial,
        actions=actions,
        quiescent=lambda s: True,
        properties=[kc.always("one-leader", "no two lead", lambda s: kc.each(
            s.leaders, lambda one: kc.each(s.leaders, lambda other: one == other)))],
        lemmas=[kc.always("leaders-have-won", "who leads has most of the votes", lambda s: kc.each(
            s.leaders, lambda one: s.has_won(one, half)))],
    )  # fmt: skip


def crowd(least: int) -> kc.System:
    """The lease with an action that takes some fenced brokers, a claim of all states, and one of all steps."""
    base = lease()
    gather = kc.Action("gather", lambda state: state, lambda state: state.fenced.size() >= least, {})
    sized = kc.always("sized", "a size is not negative", lambda state: state.fenced.size() >= 0)
    still = kc.step("still", "somebody leads, or nobody", lambda step: kc.any_of(
        step.after.leader == NOBODY, step.after.leader != NOBODY))  # fmt: skip
    return evolve(base, actions=lambda setting: [*base.actions(setting), gather],
                  properties=lambda setting: [*base.properties(setting), sized, still])  # fmt: skip


TURNS = _turns()
CROWD, LARGE_CROWD = crowd(2), crowd(5)
LEASE, TWO_PHASE, EWD_840, MAJORITY = lease(), two_phase(), ewd_840(), majority()
FORGETS, HASTY, WHITE, HALF = lease(forgets=True), two_phase(enough=1), ewd_840(blackens=False), majority(half=True)
UNSUPPORTED = evolve(TWO_PHASE, lemmas=lambda s: [one for one in TWO_PHASE.lemmas(s) if one.id != "heard-is-promised"])
"""Two-phase commit without a lemma that its proof needs."""
