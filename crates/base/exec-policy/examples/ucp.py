#!/usr/bin/env python3
"""UCP's lookahead (Qureshi and Patt, MICRO 2006, section 3.3) as a program of its own.

It decides as the policy `ucp` does, as long as there are no more programs than ways and classes,
and each has a profile. Needs nothing but Python 3. The Python package takes the class as it is
(docs/python.md).
"""

import json
import sys
from fractions import Fraction


def lookahead(curves, ways, least):
    """Ways for each curve: whose curve falls most for each way gets those ways."""
    owned = [least] * len(curves)
    free = ways - least * len(curves)
    while len(curves) > 1 and free > 0:
        best = (0, 0, 0)
        for index, curve in enumerate(curves):
            here = curve[owned[index] - 1]
            for step in range(1, free + 1):
                worth = (here - curve[owned[index] - 1 + step]) / step
                if worth > best[0]:
                    best = (worth, index, step)
        worth, index, step = best
        if worth <= 0:
            break
        owned[index] += step
        free -= step
    each, left = divmod(free, len(curves))
    return [ways + each + (index < left) for index, ways in enumerate(owned)]


class Ucp:
    def __init__(self):
        self.llc, self.curves, self.plan = None, {}, 0

    def handle(self, event):
        """The actions that follow from an event."""
        if "machine" in event:
            self.llc = event["machine"]["llc"]
        elif "started" in event:
            started = event["started"]
            misses = started["profile"]["llcmpki"]
            self.curves[started["app"]] = [Fraction(value) for value in misses]
        elif "exited" in event:
            del self.curves[event["exited"]["app"]]
        else:
            return []
        return self.divide() if self.curves else []

    def divide(self):
        ways = self.llc["ways"]
        apps = sorted(self.curves)
        if len(apps) > min(ways // self.llc["min_bits"], self.llc["clos"]):
            clusters = [{"mask": hex((1 << ways) - 1), "apps": apps}]
        else:
            clusters, top = [], ways
            curves = [self.curves[app] for app in apps]
            for app, owned in zip(apps, lookahead(curves, ways, self.llc["min_bits"])):
                top -= owned
                clusters.append({"mask": hex(((1 << owned) - 1) << top), "apps": [app]})
        plan, self.plan = self.plan, self.plan + 1
        reason = "lookahead: ways where misses fall most"
        return [{"partition": {"plan": plan, "partition": clusters, "reason": reason}}]


def main():
    policy = Ucp()
    for line in sys.stdin:
        message = json.loads(line)
        if "describe" in message:
            answer = {"describe": {"summary": "UCP in Python", "knows": "profiles"}}
        elif "start" in message:
            answer = {"actions": []}
        else:
            answer = {"actions": policy.handle(message["event"])}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
