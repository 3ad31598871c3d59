"""The native part of the package."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final, Literal, final

from ._types import AnyPolicy, Progress

__all__ = [
    "FairwaysError",
    "Machine",
    "Mix",
    "Profiles",
    "Stream",
    "Table",
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
    "simulate",
]

__version__: Final[str]

class FairwaysError(ValueError):
    """What is wrong with an input, or why a simulation ended."""

@final
class Table:
    """A table of results, in Arrow's memory."""

    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...
    def to_dict(self) -> dict[str, list[Any]]: ...
    def to_pandas(self) -> Any: ...
    def to_polars(self) -> Any: ...

@final
class Profiles:
    """Programs with profiles."""

    @property
    def name(self) -> str: ...
    @property
    def llc_mb(self) -> float: ...
    @property
    def programs(self) -> list[str]: ...
    @property
    def ways(self) -> int: ...
    def table(self) -> Table: ...

@final
class Mix:
    """Programs that share a cache."""

    def __new__(
        cls,
        programs: Sequence[str],
        profiles: Profiles | str | None = None,
        *,
        name: str | None = None,
        ways: int | None = None,
        clos: int = 16,
        min_bits: int = 1,
        bandwidth_mbps: float | None = None,
        baselines: Mapping[str, int] | None = None,
    ) -> Mix: ...
    @property
    def name(self) -> str: ...
    @property
    def programs(self) -> list[str]: ...
    @property
    def ways(self) -> int: ...
    def __len__(self) -> int: ...

@final
class Machine:
    """A simulated machine, and the programs on it."""

    @staticmethod
    def model(
        mix: Mix,
        *,
        noise: float = 0.0,
        lost: float = 0.0,
        overshoot: float = 1.0,
        llc_mb: float | None = None,
        seed: int = 1,
    ) -> Machine: ...
    @staticmethod
    def chip(
        preset: str,
        programs: Sequence[str],
        *,
        profiles: Profiles | str | None = None,
        time_scale: float = 1.0,
        clos: int = 16,
        baselines: Mapping[str, int] | None = None,
        objectives: Mapping[str, str] | None = None,
        loads: Mapping[str, str] | None = None,
        seed: int = 1,
    ) -> Machine: ...
    def run(
        self,
        policy: AnyPolicy | None = None,
        *,
        duration: float = 60.0,
        instructions: int = 150_000_000_000,
        known_profiles: bool = False,
        journal: str | PathLike[str] | None = None,
        progress: Progress = None,
        **parameters: Any,
    ) -> Table: ...

@final
class Stream:
    """What left the private caches of a program."""

    @property
    def program(self) -> str: ...
    @property
    def manifest(self) -> dict[str, Any]: ...
    def table(self, *, progress: Progress = None) -> Table: ...

def profiles(source: str = "skylake") -> Profiles: ...
def policies() -> dict[str, dict[str, Any]]: ...
def draw_mixes(profiles: Profiles | str | None = None, *, seed: int = 1) -> list[Mix]: ...
def random_mixes(
    count: int, size: int, profiles: Profiles | str | None = None, *, seed: int = 1
) -> list[Mix]: ...
def score(
    mixes: Mix | Sequence[Mix],
    plan: Sequence[int] | Sequence[Sequence[int]] | None = None,
    *,
    progress: Progress = None,
) -> Table: ...
def simulate(
    mixes: Mix | Sequence[Mix],
    policy: AnyPolicy | list[AnyPolicy] | None = None,
    *,
    dynamic: bool = False,
    instructions: int = 150_000_000_000,
    completions: int = 3,
    time_scale: float = 1.0,
    known_profiles: bool = False,
    noise: float = 0.0,
    lost: float = 0.0,
    seed: int = 1,
    progress: Progress = None,
    **parameters: Any,
) -> Table: ...
def optimum(
    mixes: Mix | Sequence[Mix],
    objective: Literal["unfairness", "stp", "max-slowdown", "antt"] = "unfairness",
    *,
    kind: Literal["clustering", "partitioning"] = "clustering",
    tolerance: float = 0.0,
    time_limit: float | None = None,
    progress: Progress = None,
) -> Table: ...
def journal(path: str | PathLike[str], *, progress: Progress = None) -> Table: ...
def read_stream(path: str | PathLike[str]) -> Stream: ...
def paper_results(path: str | PathLike[str]) -> Table: ...
