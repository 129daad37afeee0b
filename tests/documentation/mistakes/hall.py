"""The system in which the mistakes are made."""

START = '''\
"""A small hall: buyers take seats, and leave them."""
import random
import kraftcheck as kc
from attrs import evolve, frozen

SEATS, BUYERS = 4, range(3)

@frozen
class Hall:
    free: kc.Word
    tickets: tuple[kc.Word, ...]
    banned: kc.IntSet

def layout():
    return Hall(kc.ints(0, SEATS), (kc.ints(0, SEATS),) * 3, kc.IntSet(kc.subset_of(3)))

def initial():
    return [Hall(SEATS, (0, 0, 0), kc.IntSet())]

def buy(s, buyer):
    return evolve(s, free=s.free - 1, tickets=kc.put(s.tickets, buyer, kc.get(s.tickets, buyer) + 1))

def may_buy(s, buyer):
    return kc.all_of(s.free > 0, kc.negate(s.banned.has(buyer)))

def leave(s, buyer):
    return evolve(s, free=s.free + kc.get(s.tickets, buyer), tickets=kc.put(s.tickets, buyer, 0))

def may_leave(s, buyer):
    return kc.get(s.tickets, buyer) > 0

def properties():
    return [kc.always("seats", "each seat is free or sold", lambda s: s.free + sum(s.tickets) == SEATS)]

def actions(setting):
    one = {"buyer": BUYERS}
    return [kc.Action("buy", buy, may_buy, one), kc.Action("leave", leave, may_leave, one)]

'''

END = """
HALL = kc.System(
    name="hall", summary="seats of a small hall", layout=lambda setting: layout(),
    initial=lambda setting: initial(), actions=lambda setting: actions(setting),
    properties=lambda setting: properties(),
)
"""


def program(rules: str) -> str:
    """The file with some rules written anew."""
    return START + rules + END
