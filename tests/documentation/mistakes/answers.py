"""Mistakes in what a rule gives back, remembers or is named."""

from tests.documentation.mistakes.mistake import Mistake

ALONE = "a rule may depend on its arguments alone: no counter, clock, random number, or memory of earlier calls"

ANSWERS = [
    Mistake("A state that is changed in place", '''
def buy(s, buyer):
    s.free -= 1
    return s
''', "hall.py:40: action buy, effect raised FrozenInstanceError: can't set attribute; a state never changes: return "
     "evolve(state, field=value)", '''
def buy(s, buyer):
    return evolve(s, free=s.free - 1)
'''),
    Mistake("A set that is changed in place", '''
def leave(s, buyer):
    s.banned.add(buyer)
    return s
''', "hall.py:40: action leave, effect raised AttributeError: 'IntSet' object has no attribute 'add'; use "
     "plus(s.just(x))", '''
def leave(s, buyer):
    return evolve(s, banned=s.banned.plus(s.banned.just(buyer)))
'''),
    Mistake("An effect without `return`", '''
def buy(s, buyer):
    evolve(s, free=s.free - 1)
''', "hall.py:39: action buy gave a state of another shape: banned, free, tickets[0]; it gave None: return "
     "the next state", '''
def buy(s, buyer):
    return evolve(s, free=s.free - 1)
'''),
    Mistake("A guard that is a number", '''
def may_buy(s, buyer):
    return s.free
''', "hall.py:39: action buy, guard gave <var free: a word in 0..4>, not a truth; return a comparison, or all_of() of "
     "some", '''
def may_buy(s, buyer):
    return s.free > 0
'''),
    Mistake("A field of another type", '''
def buy(s, buyer):
    return evolve(s, free=s.free > 1)
''', "hall.py:39: action buy set free to <lt of [{one}, {other}]: a truth>, not a word", '''
def buy(s, buyer):
    return evolve(s, free=kc.choose(s.free > 1, 1, 0))
'''),
    Mistake("A list where the layout has a tuple", '''
def buy(s, buyer):
    return evolve(s, tickets=[tickets + 1 for tickets in s.tickets])
''', "hall.py:39: action buy gave a state of another shape: tickets, tickets[0], tickets[1], tickets[2]; tickets is a "
     "list: make it a tuple", '''
def buy(s, buyer):
    return evolve(s, tickets=tuple(kc.minimum(tickets + 1, SEATS) for tickets in s.tickets))
'''),
    Mistake("One list for `all_of`", '''
def may_buy(s, buyer):
    return kc.all_of([tickets < 3 for tickets in s.tickets])
''', "hall.py:40: action buy, guard raised TypeError: a list where one truth is expected; write all_of(*truths), "
     "any_of(*truths)", '''
def may_buy(s, buyer):
    return kc.all_of(*(tickets < 3 for tickets in s.tickets))
'''),
    Mistake("A set for a truth", '''
def may_buy(s, buyer):
    return kc.negate(s.banned)
''', "hall.py:40: action buy, guard raised TypeError: an IntSet where one truth is expected; write all_of(*truths), "
     "any_of(*truths)", '''
def may_buy(s, buyer):
    return s.banned.is_empty()
'''),
    Mistake("A method that is not called", '''
def may_buy(s, buyer):
    return kc.choose(s.banned.is_empty, s.free > 0, s.free > 1)
''', "hall.py:40: action buy, guard raised TypeError: the function is_empty where a truth is expected; call it", '''
def may_buy(s, buyer):
    return kc.choose(s.banned.is_empty(), s.free > 0, s.free > 1)
'''),
    Mistake("A number for a set", '''
def leave(s, buyer):
    return evolve(s, banned=s.banned.plus(buyer))
''', "hall.py:40: action leave, effect raised TypeError: a set of numbers meets <var leave.buyer: a word in 0..2>; "
     "write just(it)", '''
def leave(s, buyer):
    return evolve(s, banned=s.banned.plus(s.banned.just(buyer)))
'''),
    Mistake("A number for the values of an argument", '''
def actions(setting):
    return [kc.Action("buy", buy, may_buy, {"buyer": 3})]
''', "hall:HALL: action buy: the values of buyer are 3, no range or list", '''
def actions(setting):
    return [kc.Action("buy", buy, may_buy, {"buyer": range(3)})]
'''),
    Mistake("A field that is misspelt", '''
def may_buy(s, buyer):
    return s.fre > 0
''', "hall.py:40: action buy, guard raised AttributeError: 'Hall' object has no attribute 'fre'; did you mean "
     "free?", '''
def may_buy(s, buyer):
    return s.free > 0
'''),
    Mistake("A part of a number", '''
def may_buy(s, buyer):
    return s.free.exists
''', "hall.py:40: action buy, guard raised AttributeError: Term has no attribute 'exists'; it is a number, which has "
     "no parts: compare it, as in `state.leader < 0` where nobody leads", '''
def may_buy(s, buyer):
    return s.free > 0
'''),
    Mistake("An argument of another name", '''
def buy(s, who):
    return evolve(s, free=s.free - 1)
''', "hall.py:39: action buy, effect raised TypeError: buy() got an unexpected keyword argument 'buyer'; a rule takes "
     "the state and the action's parameters, a record its fields", '''
def buy(s, buyer):
    return evolve(s, free=s.free - 1)
'''),
    Mistake("A list that remembers", '''
sold = []

def buy(s, buyer):
    sold.append(buyer)
    return evolve(s, free=s.free - len(sold))
''', f"hall.py:41: action buy, effect gave two answers to the same question; {ALONE}", '''
def buy(s, buyer):
    return evolve(s, free=s.free - 1)
'''),
    Mistake("Chance", '''
chance = random.Random(1)

def may_buy(s, buyer):
    return s.free > chance.randint(0, 3)
''', f"hall.py:41: action buy, guard gave two answers to the same question; {ALONE}", '''
def buy(s, buyer, coin):
    return evolve(s, free=kc.choose(coin, s.free - 1, s.free))

def actions(setting):
    return [kc.Action("buy", buy, lambda s, buyer, coin: s.free > 0, {"buyer": BUYERS, "coin": (False, True)})]
'''),
    Mistake("Two actions of one name", '''
def actions(setting):
    one = {"buyer": BUYERS}
    return [kc.Action("buy", buy, may_buy, one), kc.Action("buy", leave, may_leave, one)]
''', "hall.py:20: two actions have the name 'buy'; rename one (hall.py:20, hall.py:26)", '''
def actions(setting):
    one = {"buyer": BUYERS}
    return [kc.Action("buy", buy, may_buy, one), kc.Action("leave", leave, may_leave, one)]
'''),
    Mistake("An initial state outside the layout", '''
def initial():
    return [Hall(SEATS + 1, (0, 0, 0), kc.IntSet())]
''', "hall.py:44: initial gave a state that does not fit the layout: free = 5 is outside its domain 0..4", '''
def initial():
    return [Hall(SEATS, (0, 0, 0), kc.IntSet())]
'''),
]  # fmt: skip
