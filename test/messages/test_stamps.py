from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st

from impact_aware.messages.stamps import seconds
from impact_aware.ros.messages import stamp


@given(st.integers(0, 2**31 - 2), st.integers(0, 999_999_999))
def test_seconds_and_back_differ_by_no_more_than_a_double_can_hold(sec, nanosec):
    original = Time(sec=sec, nanosec=nanosec)
    back = stamp(seconds(original))
    # A double has 53 bits: at 2^31 s its spacing is 2^-21 s, about half a microsecond.
    assert abs((back.sec - sec) * 1_000_000_000 + back.nanosec - nanosec) <= 500


def test_nanoseconds_never_reach_a_full_second():
    assert stamp(1.9999999999) == Time(sec=2, nanosec=0)
