"""Long runs: interrupted, shown, and beside other threads. And errors."""

import os
import signal
import threading
import time

import pytest
import tqdm

import fairways

MIX = ["lbm", "svm-train", "glpsol", "gzip"]


def chip(time_scale=1.0, **arguments):
    """Minutes of work."""
    programs = ["mlr:8M", "mload:60M"]
    machine = fairways.Machine.chip("xeon-e5", programs, time_scale=time_scale)
    return machine.run("dcat", duration=100, **arguments)


def long_simulation():
    return fairways.simulate(fairways.draw_mixes("synthetic") * 50, "lfoc", dynamic=True)


def long_search():
    names = fairways.profiles("synthetic").programs[:18]
    return fairways.optimum(fairways.Mix(names, "synthetic"))


@pytest.mark.parametrize("work", [chip, long_simulation, long_search])
def test_an_interrupt_ends_a_long_run(work):
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        work()
    assert time.perf_counter() - start < 10
    timer.join()


def test_other_threads_run_meanwhile():
    stop, counted = threading.Event(), [0]

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    fairways.simulate(fairways.draw_mixes(), "lfoc", dynamic=True, time_scale=0.5)
    took = time.perf_counter() - start
    stop.set()
    thread.join()
    assert counted[0] > 100 * took, (counted, took)


class Bar:
    """Notes what tqdm would draw."""

    bars = []

    def __init__(self, total, unit):
        self.total, self.unit, self.done, self.is_closed = total, unit, 0, False
        Bar.bars.append(self)

    def update(self, n):
        self.done += n

    def close(self):
        self.is_closed = True


def test_progress_follows_tqdm():
    mixes = fairways.draw_mixes()
    fairways.simulate(mixes, ["stock", "lfoc"], progress=Bar)
    fairways.score(mixes, progress=Bar)
    fairways.Machine.model(fairways.Mix(MIX)).run(duration=2, progress=Bar)
    seen = [(bar.total, bar.unit, bar.done, bar.is_closed) for bar in Bar.bars]
    assert seen == [(24, "run", 24, True), (12, "mix", 12, True), (2, "s", 2, True)]


def test_tqdm_draws(capsys):
    fairways.score(fairways.draw_mixes(), progress=tqdm.tqdm)
    assert "12/12" in capsys.readouterr().err
    fairways.score(fairways.draw_mixes(), progress=True)
    assert "12/12" in capsys.readouterr().err


def test_what_a_bar_raises_ends_the_run():
    class Full(Bar):
        def update(self, n):
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        chip(time_scale=0.001, progress=Full)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: fairways.Mix(["lbn"]), 'found "lbn"; did you mean "lbm"?'),
        (lambda: fairways.Mix([]), "programs: expected at least one"),
        (lambda: fairways.Mix(MIX, "none.csv"), "none.csv: can't read it"),
        (lambda: fairways.Mix(MIX, ways=12), "--ways: expected a whole number from 1 to 11"),
        (lambda: fairways.Mix(MIX, baselines={"lbm": 12}), "--baselines: lbm"),
        (lambda: fairways.simulate(fairways.Mix(MIX), "lfocc"), 'did you mean "lfoc"?'),
        (lambda: fairways.simulate(fairways.Mix(MIX), 7), "a class with a method handle(event)"),
        (lambda: fairways.simulate(fairways.Mix(MIX), "dcat"), "policy dcat: it needs --dynamic"),
        (lambda: fairways.simulate(fairways.Mix(MIX), []), "policy: expected at least one"),
        (lambda: fairways.simulate(fairways.Mix(MIX), "lfoc", nonesuch=1), 'found "nonesuch"'),
        (lambda: fairways.simulate(fairways.Mix(MIX), noise=51, dynamic=True), "noise: expected"),
        (lambda: fairways.score(fairways.Mix(MIX), [1, 2]), "a mask for each of the 4 programs"),
        (lambda: fairways.score(fairways.Mix(MIX), [0, 1, 1, 1]), "masks from 0x1 to 0x7ff"),
        (lambda: fairways.score([fairways.Mix(MIX)], [[1] * 4] * 2), "each of the 1 mixes"),
        (lambda: fairways.optimum(fairways.Mix(MIX), "joy"), "objective: expected one of"),
        (lambda: fairways.optimum(fairways.Mix(MIX * 6)), "expected at most 20 programs"),
        (lambda: fairways.optimum(fairways.Mix(MIX), tolerance=-1), "tolerance: expected percent"),
        (lambda: fairways.optimum(fairways.Mix(MIX), "stp", tolerance=1), "with it, and no"),
        (lambda: fairways.Machine.chip("xeon-z", ["mlr:1M"]), "xeon-z"),
        (lambda: fairways.Machine.chip("xeon-d", ["mlr:8X"]), "--programs: "),
        (lambda: fairways.Machine.chip("xeon-d", ["mlr:1M"], time_scale=0.3), "time_scale: "),
        (lambda: fairways.Machine.model(fairways.Mix(MIX)).run(duration=-1), "duration: "),
        (lambda: fairways.journal(__file__), "test_running.py"),
        (lambda: fairways.read_stream(__file__), "expected a stream"),
        (lambda: fairways.paper_results(__file__), "expected what fairways-lab paper --json prints"),
    ],
)
def test_an_error_is_one_line(work, said):
    with pytest.raises(fairways.FairwaysError) as raised:
        work()
    text = str(raised.value)
    assert said in text and "\n" not in text
    assert isinstance(raised.value, ValueError)
