"""Fair shares of the last-level cache: simulations, scores, the optimum, and policies in Python.

docs/python.md has the guide.
"""

from ._exec import serve
from ._fairways import (
    FairwaysError,
    Machine,
    Mix,
    Profiles,
    Stream,
    Table,
    __version__,
    draw_mixes,
    journal,
    optimum,
    paper_results,
    policies,
    profiles,
    random_mixes,
    read_stream,
    score,
    simulate,
)
from ._types import Bar, Policy, TimedPolicy

__all__ = [
    "Bar",
    "FairwaysError",
    "Machine",
    "Mix",
    "Policy",
    "Profiles",
    "Stream",
    "Table",
    "TimedPolicy",
    "__version__",
    "draw_mixes",
    "journal",
    "optimum",
    "paper_results",
    "policies",
    "profiles",
    "random_mixes",
    "read_stream",
    "score",
    "serve",
    "simulate",
]
