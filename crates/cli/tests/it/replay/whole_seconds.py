"""Error of replays of logs with whole seconds, against the truth in milliseconds.

    python3 whole_seconds.py PROGRAM [--logs N] [--seed N]

Requests are generated with their true starts and written as Apache's combined format, which stamps
the start with whole seconds, in the order in which requests end. The truth is counted here, by
definition. Two things have to hold:

- On logs above 200 lines per second, the denials of a limit of 10 per second are within 8 % of the
  truth, for all logs together.
- The true peak and the true number of touched subjects of every limit are inside the printed
  ranges, in every log. So is the number of subjects that limits of other algorithms touch.
"""

import argparse
import bisect
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile

START_MS = 1_700_000_000_000
LIMITS = {"second": (10, 1_000), "three": (20, 3_000), "minute": (100, 60_000), "odd": (15, 1_500)}
# Limits of other algorithms, for the ranges of touched subjects: quota, window, burst.
OTHERS = {
    "counter": ("counter", 20, 3_000, None),
    "odd-counter": ("counter", 15, 1_500, None),
    "fixed": ("fixed", 15, 2_000, None),
    "odd-fixed": ("fixed", 15, 1_500, None),
    "gcra": ("gcra", 10, 1_000, 10),
    "slow-gcra": ("gcra", 60, 60_000, 12),
}
TOLERANCE = 0.08


def some_requests(draw, rate):
    """Subjects of very different rates, some in bursts."""
    subjects = [f"203.0.{number // 250}.{number % 250 + 1}" for number in range(draw.randint(20, 200))]
    weights = [1 / (rank + 1) for rank in range(len(subjects))]
    requests, seconds = [], draw.randint(20, 90)
    base = START_MS + draw.randrange(1_000)
    while len(requests) < rate * seconds:
        subject = draw.choices(subjects, weights)[0]
        at = base + draw.randrange(seconds * 1_000)
        for _ in range(draw.choice([1, 1, 1, 1, 2, 5, 14])):
            requests.append((at, int(draw.expovariate(1 / 40)), subject))
            at += draw.choice([0, 3, 20, 90, 400])
    requests.sort()
    return requests


def true_numbers(requests, quota, window_ms):
    """Denials of a log of this quota, peak without it, touched subjects: by definition."""
    denied, peak, touched = 0, 0, 0
    by_subject = {}
    for at, _, subject in requests:
        by_subject.setdefault(subject, []).append(at)
    for starts in by_subject.values():
        admitted, refused = [], 0
        for index, at in enumerate(starts):
            peak = max(peak, index + 1 - bisect.bisect_right(starts, at - window_ms, 0, index + 1))
            if sum(1 for one in admitted[-quota:] if one > at - window_ms) < quota:
                admitted.append(at)
            else:
                refused += 1
        denied += refused
        touched += refused > 0
    return denied, peak, touched


def denies(kind, quota, window_ms, burst, starts):
    """Whether an algorithm denies one of these requests: up to the first denial all of them count."""
    window, previous, current, debt, last = 0, 0, 0, 0, 0
    for at in starts:
        if kind == "gcra":
            debt, last = max(0, debt - (at - last) * quota) + window_ms, at
            if debt > burst * window_ms:
                return True
            continue
        if at // window_ms != window:
            previous = current if at // window_ms == window + 1 else 0
            window, current = at // window_ms, 0
        weight = window_ms - at % window_ms if kind == "counter" else 0
        current += 1
        if current + -(-previous * weight // window_ms) > quota:
            return True
    return False


def write_log(path, requests):
    with open(path, "w") as file:
        for at, duration, subject in sorted(requests, key=lambda one: one[0] + one[1]):
            stamp = datetime.datetime.fromtimestamp(at // 1_000, datetime.timezone.utc)
            file.write(f'{subject} - - [{stamp:%d/%b/%Y:%H:%M:%S} +0000] "GET / HTTP/1.1" 200 12 "-" "test"\n')


def replay(program, log, policy):
    command = [program, "replay", log, "--server", "apache", "--policy", policy, "--json"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{log}: exit code {result.returncode}\n{result.stderr}")
    return {rule["name"]: rule["limits"][0] for rule in json.loads(result.stdout)["rules"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sums, worst, ranges, width = [0, 0], 0.0, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        policy, log = os.path.join(directory, "policy.yaml"), os.path.join(directory, "access.log")
        rules = [{"name": name, "key": ["ip"], "mode": "observe", "limits": [{"quota": quota, "window": f"{window_ms}ms"}]} for name, (quota, window_ms) in LIMITS.items()]
        for name, (kind, quota, window_ms, burst) in OTHERS.items():
            limit = {"quota": quota, "window": f"{window_ms}ms", "algorithm": kind} | ({"burst": burst} if burst else {})
            rules.append({"name": name, "key": ["ip"], "mode": "observe", "limits": [limit]})
        with open(policy, "w") as file:
            json.dump({"version": 1, "rules": rules}, file)
        for seed in range(arguments.seed, arguments.seed + arguments.logs):
            draw = random.Random(seed)
            requests = some_requests(draw, draw.choice([210, 300, 500]))
            write_log(log, requests)
            replayed = replay(arguments.program, log, policy)
            for name, (quota, window_ms) in LIMITS.items():
                denied, peak, touched = true_numbers(requests, quota, window_ms)
                limit = replayed[name]
                for what, truth, found in [("peak", peak, limit["peak"]), ("touched", touched, limit["touched"])]:
                    ranges += 1
                    width += found["high"] - found["low"]
                    if not found["low"] <= truth <= found["high"]:
                        sys.exit(f"seed {seed}, {name}: {what} {truth} is not in {found}")
                if name == "second":
                    sums[0] += denied
                    sums[1] += limit["would_deny"]
                    worst = max(worst, abs(limit["would_deny"] / max(1, denied) - 1), key=abs)
            starts = {}
            for at, _, subject in requests:
                starts.setdefault(subject, []).append(at)
            for name, (kind, quota, window_ms, burst) in OTHERS.items():
                touched = sum(denies(kind, quota, window_ms, burst, one) for one in starts.values())
                found = replayed[name]["touched"]
                ranges += 1
                width += found["high"] - found["low"]
                if not found["low"] <= touched <= found["high"]:
                    sys.exit(f"seed {seed}, {name}: {touched} touched is not in {found}")
    error = sums[1] / sums[0] - 1
    print(f"{arguments.logs} logs: {sums[0]} denials at 10/s in truth, {sums[1]} replayed: {error:+.1%}, at most {worst:.1%} in one log; truth inside {ranges} of {ranges} ranges, on average {width / ranges:.1f} wide")
    if abs(error) > TOLERANCE:
        sys.exit(f"the error is above {TOLERANCE:.0%}")


if __name__ == "__main__":
    main()
