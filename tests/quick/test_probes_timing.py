"""Durations, on clocks that are moved by hand."""

import math

import pytest
from probe_fakes import Accelerator, Events, samples

from wallsite import probes
from wallsite.probes.timing import Deadline


def fake_clock(*readings):
    left = list(readings)
    return lambda: left.pop(0)


class Logged:
    """Writes down in which order sample does things; each reading of the clock is 1 s later."""

    def __init__(self):
        self.log = []

    def clock(self):
        self.log.append("clock")
        return float(len(self.log))

    def __getattr__(self, name):
        return lambda: self.log.append(name)

    def seconds(self):
        self.log.append("seconds")
        return 3.0


def test_device_is_idle_whenever_the_clock_is_read():
    x = Logged()
    probes.sample(x.call, repeats=2, warmups=1, synchronise=x.idle, clock=x.clock)
    assert x.log == ["idle", "clock", "call", "idle", "clock"] * 3


def test_events_are_recorded_around_the_calls_and_read_once_the_device_is_idle():
    x = Logged()
    probes.sample(x.call, repeats=2, warmups=1, synchronise=x.idle, events=x, clock=x.clock)
    once = ["idle", "clock", "begin", "call", "end", "idle", "clock", "seconds"]
    assert x.log == once * 3


def test_warmups_are_kept_apart():
    clock = fake_clock(0, 5, 5, 6, 6, 8, 8, 11)
    found = probes.sample(lambda: None, repeats=2, warmups=2, clock=clock)
    assert found == probes.Samples(seconds=(2, 3), warmups=(5, 1), calls=1)
    assert (found.best, found.median) == (2, 2.5)


def test_short_calls_are_repeated_within_a_sample():
    calls = []
    found = probes.sample(
        lambda: calls.append(1), repeats=1, warmups=1, clock=fake_clock(0, 0.001, 1, 1.010)
    )
    assert (found.calls, len(calls)) == (5, 6)
    assert found.seconds == pytest.approx((0.002,))


def test_the_last_warmup_decides_how_many_calls_make_a_sample():
    clock = fake_clock(0, 9, 9, 9 + 2**-9, 20, 30)
    assert probes.sample(lambda: None, repeats=1, warmups=2, clock=clock).calls == 3


def test_a_call_too_short_for_the_clock_is_repeated_a_bounded_number_of_times():
    clock = fake_clock(0, 0, 0, 1)
    assert probes.sample(lambda: None, repeats=1, warmups=1, clock=clock).calls == 5000


def test_percentiles_and_spread_by_hand():
    ten = samples(*range(10, 0, -1))
    assert (ten.p10, ten.median, ten.p90) == (1, 5.5, 9)
    assert ten.spread == 8 / 5.5


def test_percentiles_of_few_samples_are_samples():
    assert (samples(3).p10, samples(3).p90, samples(3).spread) == (3, 3, 0)
    three = samples(4, 1, 2)
    assert (three.p10, three.p90, three.spread) == (1, 4, 1.5)
    eleven = samples(*range(1, 12))
    assert (eleven.p10, eleven.p90) == (2, 10)


# ----------------------------------------------------------------------------- an accelerator


def queued(engine, seconds=0.25):
    return lambda: engine.queue(seconds)


def test_without_waiting_only_the_launch_is_timed():
    engine = Accelerator()
    wrong = probes.sample(queued(engine), repeats=1, warmups=1, clock=engine.clock)
    assert wrong.seconds == pytest.approx((1e-6,))


def test_with_waiting_the_work_is_timed_and_the_cost_of_waiting_with_it():
    engine = Accelerator()
    found = probes.sample(
        queued(engine), repeats=2, synchronise=engine.synchronise, clock=engine.clock
    )
    assert found.seconds == pytest.approx([0.25 + 1e-3 + 1e-6] * 2, rel=1e-6)


def test_events_leave_out_the_cost_of_waiting():
    engine = Accelerator()
    found = probes.sample(
        queued(engine),
        repeats=2,
        synchronise=engine.synchronise,
        events=engine.events(),
        clock=engine.clock,
    )
    assert found.seconds == pytest.approx([0.25 + 1e-6] * 2, rel=1e-6)


def test_events_of_many_calls_give_the_time_of_one():
    engine = Accelerator()
    engine.wait = 1e-6
    found = probes.sample(
        queued(engine, 0.001),
        repeats=1,
        synchronise=engine.synchronise,
        events=engine.events(),
        clock=engine.clock,
    )
    assert found.calls == 5
    assert found.seconds == pytest.approx((0.001,), rel=1e-2)


@pytest.mark.parametrize(
    ("speed", "waiting"), [(1000.0, 0.05), (2.0, 0.05), (1.05, 0.0), (0.49, 0.0), (0.001, 0.05)]
)
def test_a_misreported_clock_of_the_device_is_refuted_by_the_host_s(speed, waiting):
    engine = Accelerator()
    engine.wait = waiting
    with pytest.raises(probes.ClockStopped, match=r"the device's events say .* no rate"):
        probes.sample(
            queued(engine),
            synchronise=engine.synchronise,
            events=Events(engine, speed),
            clock=engine.clock,
        )


@pytest.mark.parametrize("speed", [0.0, 1e-6, 0.01])
def test_a_clock_that_says_too_little_is_refuted_before_the_work_is_repeated(speed):
    engine = Accelerator()
    with pytest.raises(probes.ClockStopped):
        probes.sample(
            queued(engine),
            synchronise=engine.synchronise,
            events=Events(engine, speed),
            clock=engine.clock,
        )
    assert engine.now < 2.0  # two warm-ups and a sample of 0.25 s each, and some waiting


@pytest.mark.parametrize("speed", [0.6, 1.0, 1.01])
def test_clocks_that_differ_by_a_little_do_not_refute_each_other(speed):
    engine = Accelerator()
    found = probes.sample(
        queued(engine),
        synchronise=engine.synchronise,
        events=Events(engine, speed),
        clock=engine.clock,
    )
    assert found.best == pytest.approx(0.25 * speed, rel=1e-4)


def events_that_say(*seconds):
    events = Logged()
    left = list(seconds)
    events.seconds = lambda: left.pop(0)
    return events


def test_a_clock_that_ticks_in_microseconds_may_be_early_by_some_of_them():
    # The host saw 30 µs, the events say 40 of five calls.
    clock = fake_clock(0, 1e-3, 1, 1 + 30e-6, 2, 2 + 30e-6)
    events = events_that_say(1e-3, 40e-6, 40e-6)
    found = probes.sample(lambda: None, repeats=2, warmups=1, events=events, clock=clock)
    assert found.seconds == pytest.approx((8e-6, 8e-6))


@pytest.mark.parametrize(
    "said",
    [
        (1.0, 1.0, 0.0),
        (1.0, 1.0, -1.0),
        (1.0, math.nan, 1.0),
        (1.0, 1.0, math.nan),
        (1.0, 1.0, math.inf),
    ],
)
def test_events_that_tell_no_time(said):
    with pytest.raises(probes.ClockStopped):
        probes.sample(
            lambda: None,
            repeats=2,
            warmups=1,
            events=events_that_say(*said),
            clock=fake_clock(0, 1, 1, 2, 2, 3),
        )


def test_a_first_call_that_loads_its_kernel_refutes_no_events():
    # Where work is submitted only when it is waited for, loading falls outside of the events.
    found = probes.sample(
        lambda: None,
        repeats=1,
        warmups=2,
        events=events_that_say(0.001, 0.006, 0.006),
        clock=fake_clock(0, 0.5, 1, 1.0065, 2, 2.0065),
    )
    assert found.seconds == (0.006,)


# ------------------------------------------------------------------------------- broken clocks


def test_a_clock_that_stands_still_is_an_error_not_infinity():
    with pytest.raises(probes.ClockStopped, match="did not advance"):
        probes.sample(lambda: None, clock=lambda: 1.0)


@pytest.mark.parametrize(
    "readings", [(0, 1, 3, 2), (0, 1, 1, 2, 2, 1), (0, 1, 1, 2, 2, 2)], ids=str
)
def test_a_clock_that_runs_backwards_or_stops_in_one_sample_is_an_error(readings):
    with pytest.raises(probes.ClockStopped):
        probes.sample(
            lambda: None,
            repeats=len(readings) // 2 - 1,
            warmups=1,
            clock=fake_clock(*readings),
        )


@pytest.mark.parametrize(
    "wrong", [{"repeats": 0}, {"warmups": 0}, {"repeats": 1.5}, {"repeats": math.nan}], ids=str
)
def test_sample_names_the_wrong_argument(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        probes.sample(lambda: None, **wrong)


@pytest.mark.parametrize(
    "seconds", [(), (0.0,), (1.0, -1.0), (math.nan,), (1.0, math.nan), (1.0, math.inf)], ids=str
)
def test_durations_that_give_no_rate_are_refused(seconds):
    with pytest.raises(ValueError, match="seconds must hold durations above 0"):
        probes.Samples(seconds, ())


# ------------------------------------------------------------------------------------ deadline


def second_by_second():
    """A clock that each reading moves on by 1 s."""
    now = iter(range(10**6))
    return lambda: float(next(now))


def test_a_deadline_counts_down():
    clock = fake_clock(10, 12, 13, 18)
    deadline = Deadline(5, clock)
    assert (deadline.elapsed, deadline.left, deadline.left) == (2, 2, -3)
    assert Deadline(None, clock=lambda: 1e9).left == math.inf


def test_three_samples_are_taken_after_the_deadline():
    late = Deadline(0.5, second_by_second())
    assert late.left < 0
    found = probes.sample(lambda: None, repeats=10, deadline=late, clock=second_by_second())
    assert found.seconds == (1.0, 1.0, 1.0)


def test_no_more_samples_than_asked_for_after_the_deadline():
    late = Deadline(0.5, second_by_second())
    found = probes.sample(lambda: None, repeats=2, deadline=late, clock=second_by_second())
    assert len(found.seconds) == 2


def test_samples_end_at_the_deadline():
    engine = Accelerator()
    deadline = Deadline(2.0, engine.clock)
    found = probes.sample(
        queued(engine),
        repeats=100,
        warmups=1,
        synchronise=engine.synchronise,
        deadline=deadline,
        clock=engine.clock,
    )
    # Waiting before and after costs 1 ms each: 0.252 s a sample, the warm-up's included.
    assert len(found.seconds) == 7


def test_without_a_deadline_all_samples_are_taken():
    found = probes.sample(lambda: None, repeats=7, deadline=Deadline(), clock=second_by_second())
    assert len(found.seconds) == 7
