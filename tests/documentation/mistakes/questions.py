"""Mistakes by which Python would decide on a word that stands for every value of its domain."""

from tests.documentation.mistakes.mistake import Mistake

DECIDES = (
    "hall.py:{line}: a symbolic word was used as a condition (if, and, or, not, while, a chained "
    "comparison); use choose(), all_of(), any_of(), negate(), equal(), minimum() or maximum()"
)
INDEXES = (
    "hall.py:{line}: a symbolic word was used as an index, an end of a range or a shift count; "
    "use get() or put() at a place, each() or count() of a range, just() of a set"
)

QUESTIONS = [
    Mistake("An `if` on a word", '''
def buy(s, buyer):
    if s.free > 0:
        return evolve(s, free=s.free - 1)
    return s
''', DECIDES.format(line=40), '''
def buy(s, buyer):
    return evolve(s, free=kc.choose(s.free > 0, s.free - 1, s.free))
'''),
    Mistake("`and`, `or`, `not`", '''
def may_buy(s, buyer):
    return s.free > 0 and not s.banned.has(buyer)
''', DECIDES.format(line=40), '''
def may_buy(s, buyer):
    return kc.all_of(s.free > 0, kc.negate(s.banned.has(buyer)))
'''),
    Mistake("A set as a condition", '''
def may_buy(s, buyer):
    return kc.choose(not s.banned, s.free > 0, s.free > 1)
''', "hall.py:40: an IntSet was used as a condition (if, and, or, not, bool()), and has no truth; use its "
       "is_empty(), or count(), size() or has()", '''
def may_buy(s, buyer):
    return kc.choose(s.banned.is_empty(), s.free > 0, s.free > 1)
'''),
    Mistake("A question without its parentheses", '''
def may_buy(s, buyer):
    return s.free > 0 if s.banned.is_empty else s.free > 1
''', "hall.py:40: `s.banned.is_empty` is a condition, and a method that is not called is always true; call "
       "it", '''
def may_buy(s, buyer):
    return kc.choose(s.banned.is_empty(), s.free > 0, s.free > 1)
'''),
    Mistake("`is` between values", '''
def may_buy(s, buyer):
    return kc.choose(s.free is SEATS, False, s.free > 0)
''', "hall.py:40: `s.free is SEATS` asks whether both are one object, and these are others while a rule is "
       "traced; compare values and classes with == (is None is allowed)", '''
def may_buy(s, buyer):
    return kc.choose(s.free == SEATS, False, s.free > 0)
'''),
    Mistake("A Python set beside a set", '''
def may_buy(s, buyer):
    return kc.choose(s.banned == {0, 1}, False, s.free > 0)
''', "hall.py:40: an IntSet is compared with {0, 1}, which it never equals, whatever it holds; make that an "
       "IntSet, too", '''
def may_buy(s, buyer):
    return kc.choose(s.banned == kc.IntSet.of([0, 1]), False, s.free > 0)
'''),
    Mistake("A chained comparison", '''
def may_buy(s, buyer):
    return 1 <= s.free <= SEATS
''', DECIDES.format(line=40), '''
def may_buy(s, buyer):
    return kc.all_of(1 <= s.free, s.free <= SEATS)
'''),
    Mistake("`max` and `min`", '''
def buy(s, buyer):
    return evolve(s, free=max(s.free - 1, 0))
''', DECIDES.format(line=40), '''
def buy(s, buyer):
    return evolve(s, free=kc.maximum(s.free - 1, 0))
'''),
    Mistake("`==` between tuples or records", '''
def may_buy(s, buyer):
    return s.tickets == (0, 0, 0)
''', DECIDES.format(line=40), '''
def may_buy(s, buyer):
    return kc.equal(s.tickets, (0, 0, 0))
'''),
    Mistake("`in` a tuple", '''
def may_buy(s, buyer):
    return 3 in s.tickets
''', DECIDES.format(line=40), '''
def may_buy(s, buyer):
    return kc.some(s.tickets, lambda tickets: tickets == 3)
'''),
    Mistake("`in` a set", '''
def may_buy(s, buyer):
    return buyer in s.banned
''', "hall.py:40: action buy, guard raised TypeError: argument of type 'IntSet' is not iterable; use has() of a "
     "set, or some() of a tuple", '''
def may_buy(s, buyer):
    return s.banned.has(buyer)
'''),
    Mistake("`len` of a set", '''
def may_buy(s, buyer):
    return len(s.banned) < 2
''', "hall.py:40: action buy, guard raised TypeError: object of type 'IntSet' has no len(); use size() of a set, "
     "the field size of a Queue, or count()", '''
def may_buy(s, buyer):
    return s.banned.size() < 2
'''),
    Mistake("An index of a queue", '''
FIRST = kc.Queue.of([2, 0], 2)

def may_buy(s, buyer):
    return FIRST[0] == buyer
''', "hall.py:42: action buy, guard raised TypeError: 'Queue' object is not subscriptable; use get() of a tuple, "
     "head() or tail() of a Queue, or has() of a set", '''
FIRST = kc.Queue.of([2, 0], 2)

def may_buy(s, buyer):
    return FIRST.head() == buyer
'''),
    Mistake("An index that is a word", '''
def may_leave(s, buyer):
    return s.tickets[buyer] > 0
''', INDEXES.format(line=40), '''
def may_leave(s, buyer):
    return kc.get(s.tickets, buyer) > 0
'''),
    Mistake("A range that ends at a word", '''
def may_buy(s, buyer):
    return kc.some(range(s.free), lambda seat: seat > 1)
''', INDEXES.format(line=40), '''
def may_buy(s, buyer):
    return kc.some(range(SEATS), lambda seat: kc.all_of(seat < s.free, seat > 1))
'''),
    Mistake("A place that may be outside", '''
def may_buy(s, buyer):
    return kc.get(s.tickets, buyer + 1) == 0
''', "hall.py:40: get() at the place 1..3 of 3 items; give it the value for places outside: otherwise=", '''
def may_buy(s, buyer):
    return kc.get(s.tickets, buyer + 1, otherwise=0) == 0
'''),
    Mistake("A fraction", '''
def buy(s, buyer):
    return evolve(s, free=s.free * 0.5)
''', "hall.py:40: a symbolic word meets float 0.5; use words only", '''
def buy(s, buyer):
    return evolve(s, free=s.free // 2)
'''),
    Mistake("A text instead of a name", '''
def may_buy(s, buyer):
    return s.free == "none"
''', "hall.py:40: a symbolic word meets str 'none'; use words only", '''
NONE = 0

def may_buy(s, buyer):
    return s.free != NONE
'''),
    Mistake("A division by what may be 0", '''
def buy(s, buyer):
    return evolve(s, free=SEATS // s.free)
''', "hall.py:40: a divisor in 0..4 may be 0; divide by maximum(1, divisor), or by a constant", '''
def buy(s, buyer):
    return evolve(s, free=SEATS // kc.maximum(1, s.free))
'''),
]  # fmt: skip
