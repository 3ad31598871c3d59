"""Policies written in Python decide as those in Rust do."""

import json
import subprocess
import sys
import textwrap

import pytest
from conftest import EXAMPLES
from ucp import Ucp

import fairways


def mixes_of_each_size(count):
    """Mixes of 3 to 8 programs."""
    sizes = range(3, 9)
    each = [fairways.random_mixes(count // len(sizes) + 1, size, seed=size) for size in sizes]
    return [mix for mixes in zip(*each, strict=True) for mix in mixes][:count]


def test_a_class_decides_as_the_policy_in_rust_on_100_mixes():
    mixes = mixes_of_each_size(100)
    found = fairways.simulate(mixes, ["ucp", Ucp]).to_dict()
    assert found["policy"] == ["ucp", "python:Ucp"] * 100
    for place, mix in enumerate(mixes):
        rust, python = found["masks"][2 * place : 2 * place + 2]
        assert rust == python, mix
    # The plans are not all alike.
    assert len({tuple(masks) for masks in found["masks"]}) > 50


def test_the_same_class_decides_so_as_a_program():
    """As the suite `exec` of the command checks on 100 mixes."""
    mixes, program = mixes_of_each_size(6), f"exec:{EXAMPLES / 'ucp.py'}"
    found = fairways.simulate(mixes, [Ucp, program]).to_dict()
    assert found["masks"][0::2] == found["masks"][1::2]


def test_over_time_a_class_runs_the_same_programs_to_the_same_end():
    mixes = mixes_of_each_size(6)
    found = fairways.simulate(mixes, ["ucp", Ucp], dynamic=True, time_scale=0.02).to_dict()
    rust, python = ([row[start::2] for row in (found["slowdowns"], found["plans"])] for start in (0, 1))
    assert rust == python


def test_a_class_runs_on_a_chip_and_its_journal_has_its_reasons(tmp_path):
    file = tmp_path / "run.journal"
    chip = fairways.Machine.chip("xeon-d", ["mlr:500K", "mload:60M"], time_scale=0.01)
    programs = chip.run(Ucp, duration=0.5, journal=file).to_dict()
    assert programs["program"] == ["mlr:500K", "mload:60M"]
    lines = fairways.journal(file).to_dict()
    plans = [at for at, kind in enumerate(lines["kind"]) if kind == "partition"]
    assert plans
    assert {lines["reason"][at] for at in plans} == {"lookahead: ways where misses fall most"}


class Nothing:
    """Answers nothing, and keeps what it gets."""

    def __init__(self, **parameters):
        self.parameters, self.seen = parameters, []

    def handle(self, event, at):
        self.seen.append((at, event))


def test_a_policy_that_takes_the_time_gets_it_and_its_parameters(tmp_path):
    made = []

    def make(**parameters):
        made.append(Nothing(**parameters))
        return made[-1]

    mix = fairways.Mix(["lbm", "gzip"])
    fairways.Machine.model(mix).run(make, duration=1, period=5)
    (policy,) = made
    assert policy.parameters == {"period": 5}
    assert [at for at, _ in policy.seen] == sorted(at for at, _ in policy.seen)
    assert policy.seen[0][1]["machine"]["llc"]["ways"] == 11


def test_what_a_policy_may_know_decides_whether_it_gets_profiles():
    def profile_of(knows, **arguments):
        policy = Nothing()
        policy.knows = knows
        mix = fairways.Mix(["lbm", "gzip"])
        fairways.Machine.model(mix).run(policy, duration=0.1, **arguments)
        return policy.seen[1][1]["started"]["profile"]

    assert profile_of("profiles")["llcmpki"]
    assert profile_of("counters") is None
    assert profile_of("counters", known_profiles=True)["llcmpki"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("1", "expected a list of actions"),
        ('[{"watch": {"app": 7, "every": {"time": 10**9}}}]', "expected a program that runs"),
        ('[{"watch": {"app": 0, "every": {"time": 5}}}]', "expected a time of at least 1ms"),
        ('[{"shout": {}}]', "unknown variant `shout`"),
        (
            '[{"partition": {"plan": 3, "partition": [], "reason": ""}}]',
            "expected plans numbered from 0, found 3",
        ),
    ],
)
def test_a_wrong_action_is_an_error_in_one_line(answer, said):
    class Wrong:
        def handle(self, event):
            return eval(answer) if "started" in event else []

    with pytest.raises(fairways.FairwaysError) as raised:
        fairways.simulate(fairways.Mix(["lbm", "gzip"]), Wrong)
    text = str(raised.value)
    assert text.startswith("policy python:Wrong: ") and said in text and "\n" not in text


def test_what_a_policy_raises_reaches_its_caller():
    class Failing:
        def handle(self, event):
            raise ZeroDivisionError("mine")

    mix = fairways.Mix(["lbm", "gzip"])
    for run in (
        lambda: fairways.simulate(mix, Failing),
        lambda: fairways.simulate(mix, Failing, dynamic=True, time_scale=0.01),
        lambda: fairways.Machine.model(mix).run(Failing, duration=1),
    ):
        with pytest.raises(ZeroDivisionError, match="mine"):
            run()


def test_a_policy_that_plans_nothing_is_an_error():
    with pytest.raises(fairways.FairwaysError, match="made no plan"):
        fairways.simulate(fairways.Mix(["lbm", "gzip"]), Nothing)


def test_one_object_is_not_used_for_two_mixes():
    with pytest.raises(fairways.FairwaysError, match="expected a class for 2 mixes"):
        fairways.simulate(mixes_of_each_size(2), Ucp())


class UcpWithParameters(Ucp):
    """Takes whatever is given, and needs none of it."""

    def __init__(self, **parameters):
        super().__init__()
        self.parameters = parameters


class UcpOfCounters(Ucp):
    knows = "counters"


def test_a_class_does_not_hide_parameters_of_named_policies():
    mixes = mixes_of_each_size(6)
    alone = fairways.simulate(mixes, "lfoc", streaming_llcmpkc=1000).to_dict()["masks"]
    assert alone != fairways.simulate(mixes, "lfoc").to_dict()["masks"]
    both = fairways.simulate(mixes, ["lfoc", UcpWithParameters], streaming_llcmpkc=1000, own=2)
    assert both.to_dict()["masks"][0::2] == alone
    with pytest.raises(fairways.FairwaysError, match="streaming_llcmpkc"):
        fairways.simulate(mixes, ["lfoc", UcpWithParameters], streaming_llcmpkc="abc")


def test_a_function_and_the_policy_that_it_makes_agree():
    with pytest.raises(fairways.FairwaysError, match="knows"):
        fairways.simulate(fairways.draw_mixes(), lambda: UcpOfCounters(), dynamic=True)


def test_serve_makes_a_program_of_a_class(tmp_path):
    file = tmp_path / "served.py"
    file.write_text(
        textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {str(EXAMPLES)!r})
            import fairways, ucp
            fairways.serve(ucp.Ucp)
        """)
    )
    program = f"exec:{sys.executable} {file}"
    found = fairways.simulate(mixes_of_each_size(3), ["ucp", program]).to_dict()
    assert found["masks"][0::2] == found["masks"][1::2]


def test_a_served_class_describes_itself(tmp_path):
    file = tmp_path / "served.py"
    file.write_text(
        textwrap.dedent("""
            import fairways

            class Mine:
                "does nothing"
                knows = "nothing"
                honours = ["baselines"]
                counters = ["llc_misses"]
                parameters = [{"name": "share", "kind": "count", "default": 2}]

                def __init__(self, share):
                    assert share == 3

                def handle(self, event):
                    return []

            fairways.serve(Mine)
        """)
    )
    start = {"start": {"parameters": {"share": 3}}}
    lines = "".join(json.dumps(line) + "\n" for line in ({"describe": {}}, start))
    served = subprocess.run(
        [sys.executable, str(file)], input=lines, capture_output=True, text=True, check=True
    )
    described, started = map(json.loads, served.stdout.splitlines())
    assert described == {
        "describe": {
            "summary": "does nothing",
            "knows": "nothing",
            "decides": "ways",
            "parameters": [{"name": "share", "kind": "count", "default": 2}],
            "honours": ["baselines"],
            "counters": ["llc_misses"],
        }
    }
    assert started == {"actions": []}
