"""What is followed of a question is the question alone."""

import gc

import pytest

from kraftcheck.solvers.audit.ways import Way, followed


class Ring:
    """An object of a circle, which only the collector of garbage frees."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        """Some code that the collector runs."""
        self.__dict__.clear()


def codes(way: Way) -> set[str]:
    """The functions on a way."""
    return {code.co_name for code, _, _ in way}


def test_garbage_of_others_is_no_turn_of_a_rule(request: pytest.FixtureRequest) -> None:
    """The finalizer of an object that is garbage before is not followed; the question is."""
    before = gc.get_threshold()
    request.addfinalizer(lambda: gc.set_threshold(*before))

    def question() -> int:
        return len([[] for _ in range(5000)])  # so many that the collector runs meanwhile

    way: Way = set()
    gc.collect()
    gc.set_threshold(2000)
    Ring()
    assert followed(question, way) == 5000
    assert "question" in codes(way)
    assert "__del__" not in codes(way)
    assert gc.isenabled()
