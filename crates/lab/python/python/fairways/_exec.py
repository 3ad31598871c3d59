"""A policy class as a program of its own, for `exec:` (docs/exec.md)."""

import json
import sys
from collections.abc import Callable
from inspect import signature
from typing import Any


def serve(make: Callable[..., Any]) -> None:
    """Answer the events on standard input with a policy that `make` makes, until the input ends.

    The same class then decides in `simulate` and in the daemon: `fairways run --policy "exec:python3
    mine.py"` runs a file that ends with `serve(Mine)`. The class may have the fields `knows`,
    `decides`, `parameters`, `honours` and `counters` of a description (docs/exec.md). A host has no
    profiles: there `knows` has to be another word than `profiles`, the default.
    """
    policy: Any = None
    takes_time = False
    for line in sys.stdin:
        message = json.loads(line)
        if "describe" in message:
            answer: dict[str, Any] = {"describe": description(make)}
        elif "start" in message:
            policy = make(**message["start"]["parameters"])
            takes_time = len(signature(policy.handle).parameters) > 1
            answer = {"actions": []}
        else:
            time = (message["at"],) if takes_time else ()
            answer = {"actions": list(policy.handle(message["event"], *time) or [])}
        print(json.dumps(answer), flush=True)


def description(make: Callable[..., Any]) -> dict[str, Any]:
    """What the class says about itself, as the first answer of a program."""
    summary = (make.__doc__ or "").strip().splitlines()
    described: dict[str, Any] = {"summary": summary[0] if summary else ""}
    described["knows"] = getattr(make, "knows", "profiles")
    described["decides"] = getattr(make, "decides", "ways")
    for field in ("parameters", "honours", "counters"):
        if hasattr(make, field):
            described[field] = getattr(make, field)
    return described
