"""What an event costs a policy in Python: `python event.py > event.csv`.

Four programs run on the model, and each has windows of 1 ms.

- `dcat`: compiled in. It costs little, so this is the machine's own time.
- `class`: a class that asks for the windows, and ignores them.
- `exec`: the same class as a program (`fairways.serve`).

Prints CSV: microseconds for each event, the mean of a round.
"""

import sys
import tempfile
import time

import fairways

ROUNDS = 7
SECONDS = 3.0
PROGRAMS = ["lbm", "svm-train", "glpsol", "gzip"]

SOURCE = '''
class Watcher:
    """Windows of 1 ms."""

    knows = "counters"

    def handle(self, event):
        if "started" not in event:
            return []
        app = event["started"]["app"]
        return [{"watch": {"app": app, "every": {"time": 1_000_000}}}]
'''


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/watcher.py"
        with open(file, "w") as script:
            script.write(f"import fairways\n{SOURCE}\nfairways.serve(Watcher)\n")
        names = {}
        exec(SOURCE, names)
        subjects = [
            ("dcat", "dcat", {"period": "1ms"}),
            ("class", names["Watcher"], {}),
            ("exec", f"exec:{sys.executable} {file}", {}),
        ]
        machine = fairways.Machine.model(fairways.Mix(PROGRAMS))
        print("policy,round,us_per_event")
        for turn in range(ROUNDS + 1):
            for name, policy, parameters in subjects:
                start = time.perf_counter()
                machine.run(policy, duration=SECONDS, **parameters)
                took = time.perf_counter() - start
                # The first round starts what is started once.
                if turn > 0:
                    events = SECONDS * 1000 * len(PROGRAMS)
                    print(f"{name},{turn},{took * 1e6 / events:.3f}", flush=True)


main()
