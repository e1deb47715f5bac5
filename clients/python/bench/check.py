"""Time of a check beside the moving window of PyPI's `limits`, in one process.

The contenders take many short turns in an order that alternates, so that a busy machine slows down
both. Prints the median time of each and the median ratio within a turn, and fails if one is above
the bar. With --json it prints only the figures with a bar, one object per line.
"""

from __future__ import annotations

import itertools
import json
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
#: Checks of a subject in all turns.
CHECKS_PER_SUBJECT = 100
#: Quota by case: every check is admitted, or all after the first of a subject are denied.
CASES = {"admitted": CHECKS_PER_SUBJECT, "denied": 1}


def ours(quota: int) -> Callable[[str], bool]:
    check = Limiter(f"{quota}/h").check
    return lambda key: check(key).allowed


def theirs(quota: int) -> Callable[[str], bool]:
    limiter, limit = MovingWindowRateLimiter(MemoryStorage()), RateLimitItemPerHour(quota)
    return lambda key: limiter.hit(limit, key)


def turn_ns(check: Callable[[str], bool], keys: list[str], is_admitted: bool) -> float:
    """Time of a check in a turn, in nanoseconds."""
    start = time.perf_counter_ns()
    answers = [check(key) for key in keys]
    end = time.perf_counter_ns()
    assert answers.count(is_admitted) == len(keys), "an answer is wrong"
    return (end - start) / len(keys)


def ratio(case: str, quota: int) -> float:
    """Ratio of a case. Prints the times unless --json is given."""
    subjects = [f"user-{index}" for index in range(TURNS * CHECKS_PER_TURN // CHECKS_PER_SUBJECT)]
    contenders = {"slidegate": ours(quota), "limits": theirs(quota)}
    if case == "denied":
        for check, subject in itertools.product(contenders.values(), subjects):
            check(subject)
    keys = itertools.cycle(subjects)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for _ in range(TURNS):
        turn = list(itertools.islice(keys, CHECKS_PER_TURN))
        for name in order:
            times[name].append(turn_ns(contenders[name], turn, case == "admitted"))
        order.reverse()
    if "--json" not in sys.argv:
        medians = [f"{name} {statistics.median(column):.0f} ns" for name, column in times.items()]
        print(f"{case}: {', '.join(medians)}")
    turns = zip(times["slidegate"], times["limits"])
    return statistics.median(own / other for own, other in turns)


def main() -> int:
    holds = True
    for case, quota in CASES.items():
        figure = round(ratio(case, quota), 3)
        holds &= figure <= BAR
        bar = f"python, {case}: time of a check / limits"
        if "--json" in sys.argv:
            must = f"<= {BAR}"
            print(json.dumps({"bar": bar, "figure": figure, "must": must, "holds": figure <= BAR}))
        else:
            print(f"{bar}: {figure} (must be <= {BAR})")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
