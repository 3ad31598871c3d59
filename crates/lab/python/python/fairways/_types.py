"""What users pass in."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, Union


class Policy(Protocol):
    """A policy: events in, actions out, both in the form of a journal (docs/journal.md)."""

    def handle(self, event: Any, /) -> Sequence[Mapping[str, Any]] | None:
        """Answer an event with actions; None is none."""


class TimedPolicy(Protocol):
    """A policy that also gets the time, in nanoseconds since the machine began."""

    def handle(self, event: Any, at: int, /) -> Sequence[Mapping[str, Any]] | None:
        """Answer an event with actions; None is none."""


class Bar(Protocol):
    """What shows progress, as tqdm does."""

    def update(self, n: float, /) -> object:
        """Go on by so many units."""

    def close(self) -> object:
        """Show the end."""


AnyPolicy: TypeAlias = Union[
    str, Policy, TimedPolicy, Callable[..., Policy], Callable[..., TimedPolicy]
]
Progress: TypeAlias = Union[bool, Callable[..., Bar], None]
