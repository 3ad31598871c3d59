"""Plots the unfairness of drawn mixes under policies: `python plot.py FILE`."""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import fairways  # noqa: E402

POLICIES = ["stock", "ucp", "dunn", "kpart", "lfoc", "optimum"]

mixes = fairways.draw_mixes()
found = fairways.simulate(mixes, POLICIES).to_dict()
figure, axes = plt.subplots(figsize=(9, 4))
for place, policy in enumerate(POLICIES):
    rows = zip(found["policy"], found["unfairness"], strict=True)
    values = [unfairness for of, unfairness in rows if of == policy]
    axes.bar([mix + place / 8 for mix in range(len(mixes))], values, 1 / 8, label=policy)
axes.set_xticks(range(len(mixes)), [mix.name for mix in mixes])
axes.set_ylabel("unfairness")
axes.set_ylim(bottom=1)
axes.legend(ncols=len(POLICIES))
figure.savefig(sys.argv[1])
