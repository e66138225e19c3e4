"""When the commands of an arm are no longer to be trusted."""

import numpy as np
import pytest

from impact_aware.control.command_watch import CommandWatch, LawAge, Silence, effort_refusal

# Between two looks, so that rounding decides nothing.
PERIOD, TIMEOUT, REPEAT = 0.004, 0.022, 0.102
LIMIT = np.array([80.0, 12.0, 5.0])


class Run:
    """A watch that is looked at, with a clock."""

    def __init__(self, **changes: float) -> None:
        usual = {"timeout": TIMEOUT, "repeat_timeout": REPEAT, "period": PERIOD}
        self.watch = CommandWatch("/commands", **(usual | changes))
        self.now = 100.0
        self.sent = 0

    def go(self, looks: int, *, send: bool = False, same: bool = False, step: float = PERIOD) -> str:
        """Look so often, with a command before each look; what was said last."""
        said = ""
        for _ in range(looks):
            if send:
                self.sent += not same
                self.watch.receive(self.sent)
            self.now += step
            said = said or self.watch.look(self.now)
        return said


def test_nothing_is_expected_before_the_first_command():
    assert Run().go(1000) == ""


def test_whoever_was_held_up_himself_does_not_take_that_for_silence():
    run = Run()
    run.go(50, send=True)
    assert run.go(1, step=5.0) == "", "what came meanwhile may still wait to be taken"
    assert run.go(20, send=True) == ""
    assert run.go(1, step=5.0) == ""
    assert "no command" in run.go(5), "but silence that goes on is told"


def test_a_clock_that_stands_still_or_goes_back_is_no_silence():
    run = Run()
    run.go(3, send=True)
    assert run.go(100, step=0.0) == ""
    assert run.go(100, step=-1.0) == ""


def test_commands_that_differ_now_and_then_are_not_the_same():
    run = Run()
    for _ in range(20):
        assert run.go(20, send=True, same=True) == ""
        assert run.go(1, send=True) == ""


def test_the_same_command_may_come_for_ever_where_that_is_asked_for():
    assert Run(repeat_timeout=0.0).go(500, send=True, same=True) == ""


def test_after_the_end_nothing_is_expected_until_the_next_command():
    run = Run()
    run.go(10, send=True)
    run.watch.end()
    assert run.go(100) == ""
    assert run.go(4, send=True) == ""
    assert "no command" in run.go(6)


def test_each_arm_is_silent_for_itself():
    heard, silent = Silence(PERIOD), Silence(PERIOD)
    for step in range(10):
        heard.heard()
        heard.look(PERIOD * step)
        silent.look(PERIOD * step)
    assert heard.time == 0.0
    assert silent.time == pytest.approx(9 * PERIOD)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([79.0, -11.9, 4.9], ""),
        ([0.0, 0.0, 7.4], ""),
        ([0.0, -18.1, 0.0], "-18.1 N m at joint 2, which may have 12"),
        ([1.0, 2.0], "2 torques for 3 joints"),
        ([], "0 torques for 3 joints"),
        ([1.0, np.nan, 2.0], "a torque that is not finite"),
        ([1.0, 2.0, -np.inf], "a torque that is not finite"),
    ],
)
def test_torques_that_are_no_command(values, sentence):
    assert effort_refusal(np.array(values), LIMIT) == sentence


@pytest.mark.parametrize(
    ("stamp", "said"), [(49.99, "a law of 70 ms ago"), (48.99, ""), (51.01, ""), (0.0, ""), (1e9, "")]
)
def test_a_law_is_too_old_by_the_clock_that_stamped_it_where_that_compares(stamp, said):
    now = 50.0
    age = LawAge(lambda: now)
    assert age.refusal(stamp, 0.05) == ""
    now = 50.5
    assert age.refusal(50.451, 0.05) == ""
    assert age.refusal(50.43, 0.05) == said
