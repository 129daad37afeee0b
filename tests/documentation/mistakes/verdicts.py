"""Mistakes that are no errors: the verdict says that something was not checked."""

from tests.documentation.mistakes.mistake import Mistake

VERDICTS = [
    Mistake("A bound that is too small", '''
def layout():
    return Hall(kc.ints(0, SEATS), (kc.ints(0, 2),) * 3, kc.IntSet(kc.subset_of(3)))
''', "seats incomplete tickets[0..2] left its domain 0..2, above, in 3 transitions by buy: "
     "widen it, or declare its cap", '''
def layout():
    return Hall(kc.ints(0, SEATS), (kc.ints(0, SEATS),) * 3, kc.IntSet(kc.subset_of(3)))
''', code=20),
    Mistake("A premise that no state satisfies", '''
def properties():
    return [
        kc.always("banned", "who is banned has no ticket",
                  lambda s: kc.implies(s.banned.has(0), s.tickets[0] == 0)),
    ]
''', "banned vacuous no reachable state satisfies its premise, so it says nothing of any", '''
def properties():
    return [kc.sometimes("full", "every seat is sold", lambda s: s.free == 0)]
''', code=21),
    Mistake("A property that the domains make true", '''
def properties():
    return [kc.always("few", "there are at most four free seats", lambda s: s.free <= SEATS)]
''', "few vacuous every state that the domains allow satisfies it, so it checks nothing", '''
def properties():
    return [kc.sometimes("few", "there are four free seats", lambda s: s.free == SEATS)]
''', code=21),
    Mistake("An action that is never enabled", '''
def may_leave(s, buyer):
    return kc.all_of(s.free == 0, s.banned.has(buyer))
''', "actions that never happened: leave guards never true: leave: guard", '''
def may_leave(s, buyer):
    return s.free == 0
''', code=11),
]  # fmt: skip
