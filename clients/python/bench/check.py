"""Time of a check beside the moving window of PyPI's `limits`, in one process.

The contenders take many short turns, so that a busy machine slows down both. Prints the median
time of each and the median ratio of neighbouring turns, and fails if that is above the bar.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from slidegate import Limiter

#: Largest ratio that passes.
BAR = 0.2
TURNS = 200
CHECKS_PER_TURN = 250
QUOTA = 100
#: Number of subjects by case. With few of them, all but the first checks are denied.
CASES = {"admitted": TURNS * CHECKS_PER_TURN // QUOTA, "denied": 10}


def ours() -> Callable[[str], bool]:
    check = Limiter(f"{QUOTA}/h").check
    return lambda key: check(key).allowed


def theirs() -> Callable[[str], bool]:
    limiter, limit = MovingWindowRateLimiter(MemoryStorage()), RateLimitItemPerHour(QUOTA)
    return lambda key: limiter.hit(limit, key)


def turn_ns(check: Callable[[str], bool], keys: list[str]) -> float:
    """Time of a check in a turn, in nanoseconds."""
    start = time.perf_counter_ns()
    for key in keys:
        check(key)
    return (time.perf_counter_ns() - start) / len(keys)


def compare(case: str, subjects: int) -> float:
    """Prints the times of a case. Returns the ratio."""
    names = itertools.cycle(f"user-{index}" for index in range(subjects))
    contenders = (ours(), theirs())
    turns = []
    for _ in range(TURNS):
        keys = list(itertools.islice(names, CHECKS_PER_TURN))
        turns.append([turn_ns(check, keys) for check in contenders])
    ours_ns, theirs_ns = (statistics.median(column) for column in zip(*turns))
    ratio = statistics.median(own / other for own, other in turns)
    print(f"{case}: slidegate {ours_ns:.0f} ns, limits {theirs_ns:.0f} ns, ratio {ratio:.3f}")
    return ratio


def main() -> int:
    worst = max(compare(case, subjects) for case, subjects in CASES.items())
    print(f"largest ratio {worst:.3f}, bar {BAR}")
    return 0 if worst <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
