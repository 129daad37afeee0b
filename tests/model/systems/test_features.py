"""The system `features`: each report as the run that it tells."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.model.language.system import Outcome
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.features.state import NOT_REGISTERED, Features
from kraftcheck.model.systems.features.system import FEATURES

Done = tuple[str, dict[str, Any]]


def walked(rules: str, begins: int, *steps: Done) -> Features:
    """The state after some steps; raises AssertionError where one is not possible."""
    setting = FEATURES.setting("tiny", rules=parse(rules))
    actions = {action.name: action for action in FEATURES.actions(setting)}
    state = FEATURES.initial(setting)[begins]
    for name, arguments in steps:
        assert actions[name].enabled(state, arguments), (name, arguments)
        done: Outcome = actions[name].outcome(state, arguments)
        state = done.state
    return state


def restarted(controller: int, release: int) -> tuple[Done, Done]:
    """A controller is stopped, and started in a release."""
    return ("stop", {"controller": controller}), ("start", {"controller": controller, "release": release})


def on(action: str, controller: int) -> Done:
    """A step of a controller."""
    return action, {"controller": controller}


LED: tuple[Done, ...] = (on("activate", 0), on("register_controller", 0), on("register_controller", 1))


def test_a_departed_controller_forbids_the_level_that_would_remove_it() -> None:
    """KAFKA-20295: it is asked, says no, and can be unregistered only at the level that it forbids."""
    left = (*LED, on("leave", 1), *restarted(0, 1), on("activate", 0))
    raised: Done = ("raise_level", {"level": 2})
    for last in (raised, on("unregister_controller", 1)):
        with pytest.raises(AssertionError, match=last[0]):
            walked("fixed+departed-controllers-asked", 0, *left, last)
    assert walked("fixed", 0, *left, raised, on("unregister_controller", 1)).controllers[1].registered == NOT_REGISTERED


def test_a_log_without_level_is_read_as_the_lowest() -> None:
    """KAFKA-20839: the right rule writes the lowest, to 4.0.2 none is written, and since 4.1.0 that of the release."""
    upgraded = (*restarted(0, 1), on("activate", 0))
    levels = {rules: walked(rules, 1, *upgraded).level for rules in ("fixed", "kafka-4.0.2", "kafka-4.1.0")}
    assert levels == {"fixed": 1, "kafka-4.0.2": 0, "kafka-4.1.0": 2}
    assert not walked("kafka-4.1.0", 1, *upgraded).controllers[1].up


def test_a_bootstrap_file_is_of_no_concern_once_the_log_has_records() -> None:
    """KAFKA-19192: 4.0.0 does not start beside a file of a level that it has dropped, whatever the log says."""
    raised = (on("activate", 0), *restarted(1, 1), *restarted(0, 1), on("activate", 0), on("register_controller", 0),
              on("register_controller", 1), ("raise_level", {"level": 2}), *restarted(1, 2))  # fmt: skip
    assert walked("kafka-4.0.1", 0, *raised).controllers[1].up
    with pytest.raises(AssertionError, match="start"):
        walked("kafka-4.0.0", 0, *raised)


@pytest.mark.parametrize(("rules", "registered"), [("fixed", NOT_REGISTERED), ("fixed+features-read-early", 1)])
def test_a_request_that_waits_is_judged_by_the_level_of_its_decision(rules: str, registered: int) -> None:
    """KAFKA-18844: a broker of a release that lacks the level is registered by the one before."""
    both = (*restarted(0, 2), *restarted(1, 2), on("activate", 0), on("register_controller", 0))
    state = walked(rules, 2, *both, on("register_controller", 1), ("ask", {"broker": 0}), ("raise_level", {"level": 3}),
                   ("register_broker", {"broker": 0}))  # fmt: skip
    assert state.brokers[0].registered == registered
