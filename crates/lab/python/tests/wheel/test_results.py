"""Results, as tables, and what they are."""

import json
import re
import time

import pandas
import polars
import pyarrow
import pytest
from conftest import PROJECT

import fairways

MIX = ["lbm", "svm-train", "glpsol", "gzip"]


def test_the_figures_are_those_of_the_readme():
    rows = re.findall(r"^ (\w+) +(\d\.\d{3}) .*? (\d\.\d{3}) ", (PROJECT / "README.md").read_text(), re.M)
    assert [row[0] for row in rows] == ["stock", "ucp", "lfoc", "fairways"]
    found = fairways.simulate(fairways.Mix(MIX), [row[0] for row in rows]).to_dict()
    for place, (_, unfairness, stp) in enumerate(rows):
        assert f"{found['unfairness'][place]:.3f}" == unfairness
        assert f"{found['stp'][place]:.3f}" == stp


def test_fairways_is_the_policy_where_none_is_named():
    assert fairways.simulate(fairways.Mix(MIX)).to_dict()["policy"] == ["fairways"]


def test_10_000_mixes_are_scored_in_less_than_a_second():
    mixes = fairways.random_mixes(10_000, 8)
    start = time.perf_counter()
    scores = fairways.score(mixes)
    took = time.perf_counter() - start
    assert len(scores) == 10_000
    assert took < 1, took


def test_a_plan_is_scored_as_the_policy_that_made_it():
    mixes = fairways.draw_mixes(seed=3)
    planned = fairways.simulate(mixes, "lfoc").to_dict()
    scored = fairways.score(mixes, planned["masks"]).to_dict()
    for column in ("unfairness", "stp", "antt", "slowdowns"):
        assert scored[column] == planned[column]
    shared = fairways.simulate(mixes, "stock").to_dict()
    assert fairways.score(mixes).to_dict()["slowdowns"] == shared["slowdowns"]


def test_no_policy_is_fairer_than_the_optimum():
    mixes = fairways.draw_mixes(seed=2)[:6]
    best = fairways.optimum(mixes).to_dict()
    assert all(best["is_proven"]) and best["value"] == best["unfairness"] == best["bound"]
    for policy in ("stock", "ucp", "kpart", "lfoc"):
        found = fairways.simulate(mixes, policy).to_dict()["unfairness"]
        assert all(of >= least - 1e-12 for of, least in zip(found, best["value"], strict=True))
    assert fairways.simulate(mixes, "optimum").to_dict()["masks"] == best["masks"]


def test_an_optimum_within_a_tolerance_is_the_least_of_unfairness_over_stp():
    mixes = fairways.draw_mixes(seed=2)[:3]
    least, within = (fairways.optimum(mixes, tolerance=of).to_dict() for of in (0, 2))
    columns = [one[name] for one in (least, within) for name in ("unfairness", "stp")]
    for fairest, stp, found, faster in zip(*columns, strict=True):
        assert fairest <= found <= 1.02 * fairest + 1e-12 and found / faster <= fairest / stp


def test_frames_have_what_the_table_has():
    table = fairways.simulate(fairways.draw_mixes(), ["stock", "lfoc"])
    columns = table.to_dict()
    arrow = pyarrow.table(table)
    assert arrow.num_rows == len(table) == 24 and arrow.to_pydict() == columns
    assert polars.DataFrame(table).to_dict(as_series=False) == columns
    assert table.to_polars().equals(polars.DataFrame(table))
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == table.columns
    assert frame["stp"].tolist() == columns["stp"]


def test_arrow_takes_the_memory_as_it_is():
    table = fairways.score(fairways.random_mixes(1000, 4))
    addresses = [
        pyarrow.table(table)["stp"].chunk(0).buffers()[1].address for _ in range(2)
    ]
    assert addresses[0] == addresses[1]


def test_profiles_are_a_table_and_a_file_of_profiles_is_read(tmp_path):
    profiles = fairways.profiles("small")
    frame = profiles.table().to_polars()
    assert frame.shape[0] == len(profiles.programs) * profiles.ways == 46 * 32
    header = "BENCH,NR_WAYS,ipc,llcrpki,llcmpki,llcrpkc,llcmpkc,llc_usage_kb,bandwidth_mbps,"
    header += "llcm_bandwidth,stalls_l2_miss,stalls_l3_miss,stalls_total,stalls_store_buf\n"
    file = tmp_path / "mine.csv"
    file.write_text(header + "".join(f"a,{w},{w}.5,1,1,1,1,600,7,0.9,0.2,0.2,0.5,0.1\n" for w in (1, 2)))
    mine = fairways.profiles(str(file))
    assert mine.programs == ["a"] and mine.table().to_dict()["ipc"] == [1.5, 2.5]
    assert fairways.Mix(["a", "a"], mine).ways == 2


def test_ipc_and_misses_alone_are_scored(tmp_path):
    whole = fairways.profiles("skylake").table().to_dict()
    file = tmp_path / "few.csv"
    rows = zip(*(whole[name] for name in ("program", "ways", "ipc", "llcmpki")), strict=True)
    file.write_text("BENCH,NR_WAYS,ipc,llcmpki\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    few = fairways.profiles(str(file))
    assert "stalls_l2_miss" not in few.table().to_dict()
    mixes = [fairways.Mix(MIX), fairways.Mix(MIX, few)]
    for table in (fairways.score(mixes), fairways.optimum(mixes), fairways.simulate(mixes, "lfoc")):
        first, second = table.to_dict()["unfairness"]
        assert abs(first - second) < 1e-6
    for refused in (
        lambda: fairways.simulate(mixes, "dunn"),
        lambda: fairways.simulate(mixes, "lfoc", dynamic=True),
        lambda: fairways.Machine.model(mixes[1]),
        lambda: fairways.Mix(MIX, few, bandwidth_mbps=9000.0),
    ):
        with pytest.raises(fairways.FairwaysError, match="expected profiles with"):
            refused()


def test_a_journal_has_a_row_for_each_line(tmp_path):
    file = tmp_path / "run.journal"
    fairways.Machine.model(fairways.Mix(MIX)).run("lfoc", duration=3, journal=file)
    lines = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    table = fairways.journal(file).to_dict()
    assert table["at_ns"] == [line["at"] for line in lines]
    wholes = [line.get("event", line.get("action")) for line in lines]
    assert [json.loads(text) for text in table["json"]] == wholes
    sampled = [whole["sampled"] for whole in wholes if "sampled" in whole]
    counted = [of for of, kind in zip(table["instructions"], table["kind"], strict=True) if kind == "sampled"]
    assert counted == [sample["counters"]["instructions"] for sample in sampled] and counted
    # What was not counted is missing, not 0.
    assert None in table["instructions"] and 0 not in table["instructions"]
    assert set(table["program"]) == {None, *MIX}


def test_the_results_of_papers_are_tables():
    for name in ("lfoc-embedded", "dcat-measured", "locpart", "casc", "cache-fair"):
        file = PROJECT / f"crates/lab/experiments/claims/results/{name}.json"
        rows = json.loads(file.read_text())["rows"]
        table = fairways.paper_results(file).to_dict()
        assert table["item"] == [row["item"] for row in rows]
        for place, row in enumerate(rows):
            kind = "measured_text" if isinstance(row["measured"], str) else "measured"
            assert table[kind][place] == row["measured"]


def test_a_stream_is_a_table():
    stream = fairways.read_stream(PROJECT / "corpus/streams/gnugo.stream")
    assert stream.program == "gnugo"
    totals = stream.manifest["totals"]
    events = stream.table().to_polars()
    for kind, total in (("load", "loads"), ("store", "stores"), ("write_back", "write_backs")):
        assert (events["kind"] == kind).sum() == totals[total]
    assert events["instructions"].sum() == totals["instructions"]
    assert stream.table().to_dict()["kind"] == events["kind"].to_list()


def test_no_parameter_of_a_policy_hides_behind_an_argument():
    taken = {
        "mixes", "policy", "dynamic", "instructions", "completions", "time_scale", "known_profiles",
        "noise", "lost", "seed", "progress", "duration", "journal",
    }
    for policy, parameters in fairways.policies().items():
        assert taken.isdisjoint(parameters), policy


def test_parameters_are_those_of_the_command():
    mixes = fairways.draw_mixes()
    usual = fairways.simulate(mixes, "lfoc")
    same = fairways.simulate(mixes, "lfoc", streaming_llcmpkc=10, decision_period="500ms")
    assert usual.to_dict() == same.to_dict()
    other = fairways.simulate(mixes, "lfoc", streaming_llcmpkc=1000)
    assert usual.to_dict()["masks"] != other.to_dict()["masks"]
