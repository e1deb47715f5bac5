"""Naive model of `slidegate replay`, and a comparison with the program over generated logs.

    python3 oracle.py PROGRAM [--logs N] [--seed N]

The model shares nothing with the program. It keeps a list of everything that was ever admitted and
counts it anew for every request; it searches where an implementation computes. Every log is
generated with a policy of its own: rules of all algorithms, with tiers, overrides, lists, missing
attributes, dry runs and in-flight limits. Each line of `--verdicts` has to be the same.
"""

import argparse
import hashlib
import ipaddress
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

START_MS = 1_700_000_000_000


class Limit:
    """Limit of a rule, with its name in responses."""

    def __init__(self, kind, quota, window_ms, name=None, burst=None, resolution_ms=None):
        self.kind, self.quota, self.window_ms = kind, quota, window_ms
        self.name, self.burst = name, burst
        if resolution_ms is None and kind == "log":
            resolution_ms = 1 if quota <= 128 else -(-window_ms // 128)
        self.resolution_ms = resolution_ms

    def history(self):
        return (self.kind, self.window_ms, self.name)

    def yaml(self):
        if self.kind == "in_flight":
            return {"in_flight": self.quota, "hold": f"{self.window_ms}ms", "name": self.name}
        fields = {"quota": self.quota, "window": f"{self.window_ms}ms", "algorithm": self.kind, "name": self.name}
        if self.kind == "gcra":
            fields["burst"] = self.burst
        if self.kind == "log" and self.resolution_ms != 1 and self.quota <= 128:
            fields["resolution"] = f"{self.resolution_ms}ms"
        return fields


class Charge:
    """Unit that was admitted."""

    def __init__(self, at_ms, stamp_ms, release_ms):
        self.at_ms, self.stamp_ms, self.release_ms = at_ms, stamp_ms, release_ms


def in_log(limit, charges, now):
    return sum(1 for charge in charges if charge.stamp_ms > now - limit.window_ms)


def in_counter(limit, charges, now):
    start = now - now % limit.window_ms
    current = sum(1 for charge in charges if charge.at_ms >= start)
    previous = sum(1 for charge in charges if start - limit.window_ms <= charge.at_ms < start)
    return current + math.ceil(Fraction(previous * (limit.window_ms - (now - start)), limit.window_ms))


def in_fixed(limit, charges, now):
    return sum(1 for charge in charges if charge.at_ms >= now - now % limit.window_ms)


def in_gcra(limit, charges, now):
    level, last = Fraction(0), None
    for at_ms in [charge.at_ms for charge in charges] + [now]:
        if last is not None:
            level = max(Fraction(0), level - Fraction((at_ms - last) * limit.quota, limit.window_ms))
        last = at_ms
        level += 1
    return level - 1


def in_flight(limit, charges, now):
    return sum(1 for charge in charges if charge.at_ms + limit.window_ms > now and charge.release_ms > now)


def usage(limit, charges, now):
    """Slots if nobody released one from now on."""
    return [charge for charge in charges if charge.at_ms + limit.window_ms > now and charge.release_ms > now]


USED = {"log": in_log, "counter": in_counter, "fixed": in_fixed, "gcra": in_gcra, "in_flight": in_flight}


def remaining(limit, charges, now):
    ceiling = limit.burst if limit.kind == "gcra" else limit.quota
    return max(0, math.floor(ceiling - USED[limit.kind](limit, charges, now)))


def wait(limit, charges, now):
    """First time from now on at which a unit fits, if nothing else comes: what is used only shrinks."""
    if limit.kind == "in_flight":
        ends = sorted(charge.at_ms + limit.window_ms for charge in usage(limit, charges, now))
        return ends[len(ends) - limit.quota] - now
    low, high = 0, 3 * limit.window_ms
    while high - low > 1:
        middle = (low + high) // 2
        if remaining(limit, charges, now + middle) >= 1:
            high = middle
        else:
            low = middle
    return high


class Model:
    """All histories, by rule, subject and limit."""

    def __init__(self, rules):
        self.rules = rules
        self.histories = {}

    def charges(self, rule, key, limit):
        return self.histories.setdefault((rule["name"], key, limit.history()), [])

    def decide(self, request):
        now = request["start_ms"]
        hits = []
        for rule in self.rules:
            if not matches(rule["match"], request):
                continue
            enforced_rule = rule["mode"] == "enforce"
            denied = any(matches(one, request) for one in rule["deny"])
            if denied and enforced_rule:
                return record("blocked", [rule["name"]])
            if not denied and any(matches(one, request) for one in rule["allow"]):
                continue
            key, is_whole = subject(rule, request)
            if not denied and not is_whole and rule["missing"] == "skip":
                continue
            blocked = denied or (not is_whole and rule["missing"] == "deny")
            enforced = is_enforced(rule, request, key)
            if blocked and enforced:
                return record("blocked", [rule["name"]])
            hits.append((rule, key, limits_of(rule, request), enforced, blocked))
        mine = [(rule, key, limit) for rule, key, limits, enforced, _ in hits if enforced for limit in limits]
        verdict = self.charge(mine, now, request)
        if verdict["verdict"] == "allowed":
            observed = [hit for hit in hits if not hit[3] and not hit[4]]
            for rule, key, limits, _, _ in observed:
                dry = self.charge([(rule, key, limit) for limit in limits], now, request)
                verdict["would_refuse"] += dry["refused_by"]
        verdict["would_refuse"] += [rule["name"] for rule, _, _, _, blocked in hits if blocked]
        return verdict

    def charge(self, wanted, now, request):
        """All or nothing."""
        left = [remaining(limit, self.charges(rule, key, limit), now) for rule, key, limit in wanted]
        refusing = [one for one, units in zip(wanted, left) if units < 1]
        if not refusing:
            for rule, key, limit in wanted:
                slot = limit.resolution_ms or 1
                stamp_ms = now - now % slot + slot - 1
                self.charges(rule, key, limit).append(Charge(now, stamp_ms, math.inf))
            left = [remaining(limit, self.charges(rule, key, limit), now) for rule, key, limit in wanted]
            for rule, key, limit in wanted:
                # A request that ends at once held its slot until it was answered.
                self.charges(rule, key, limit)[-1].release_ms = now + request["duration_ms"]
        bounds = [units for (_, _, limit), units in zip(wanted, left) if limit.kind != "in_flight" or units == 0]
        names = [f"{rule['name']}-{limit.name}" for rule, _, limit in refusing]
        waits = [wait(limit, self.charges(rule, key, limit), now) for rule, key, limit in refusing]
        verdict = record("denied" if refusing else "allowed", names)
        verdict["remaining"] = min(bounds, default=None)
        verdict["retry_after_ms"] = max(waits, default=None)
        return verdict


def record(verdict, refused_by):
    return {"verdict": verdict, "refused_by": refused_by, "would_refuse": [], "remaining": None, "retry_after_ms": None}


def matches(conditions, request):
    for name, wanted in conditions.items():
        value = request.get(name)
        if value is None:
            return False
        wanted = wanted if isinstance(wanted, list) else [wanted]
        if name == "path":
            fits = any(value.startswith(one[: -len("{*rest}")]) if one.endswith("{*rest}") else value == one for one in wanted)
        elif name == "ip":
            fits = any(ipaddress.ip_address(value) in ipaddress.ip_network(one) for one in wanted)
        else:
            fits = value in wanted
        if not fits:
            return False
    return True


def subject(rule, request):
    parts, is_whole = [], True
    for alternatives in rule["key"]:
        found = next(((name, canonical(name, request[name])) for name in alternatives.split("|") if request.get(name)), None)
        is_whole &= found is not None
        parts.append(found)
    if not is_whole and len(parts) == 1:
        parts = [None]
    return tuple(parts), is_whole


def canonical(name, value):
    if name == "ip" and ":" in value:
        return str(ipaddress.ip_network(value + "/64", strict=False))
    return value


def is_enforced(rule, request, key):
    mode = rule["mode"]
    if isinstance(mode, str):
        return mode == "enforce"
    if "enforce_for" in mode:
        return any(matches(one, request) for one in mode["enforce_for"])
    # The share of a rule with a key of one attribute, which the request has.
    digest = hashlib.sha256(b"\0" + (key[0][1] if key[0] else "").encode()).digest()
    share = int(mode["enforce"].rstrip("%"))
    return int.from_bytes(digest[:8], "big") * 100 < share << 64


def limits_of(rule, request):
    for when, limits in rule["overrides"]:
        if matches(when, request):
            return limits
    return rule["tiers"].get(request.get("tier"), rule["limits"])


# Generated policies and logs

PATHS = ["/login", "/v1/search/a", "/v1/search/b/c", "/status"]
USERS = ["alice", "bob", "carol", "mallory"]
IPS = ["203.0.113.7", "203.0.113.8", "198.51.100.1", "2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:9::1"]


def some_limit(draw, index, kinds):
    kind, window_ms = draw.choice(kinds), draw.choice([1_000, 2_000, 5_000, 10_000, 60_000])
    name = f"{kind}{index}".replace("_", "-")
    if kind == "in_flight":
        return Limit(kind, draw.randint(1, 4), draw.choice([500, 2_000, 10_000]), name)
    quota = draw.choice([1, 2, 3, 5, 10, 40, 150])
    if kind == "log":
        return Limit(kind, quota, draw.choice([50, 999, window_ms]), name, resolution_ms=draw.choice([None, None, 10, 37]) if quota <= 128 else None)
    if kind == "gcra":
        return Limit(kind, quota, window_ms, name, burst=draw.randint(1, max(1, quota)))
    return Limit(kind, quota, window_ms, name)


def other_quotas(draw, limits):
    """The same limits with other quotas: they share their histories. A changed rate of a meter is another matter."""
    return [
        Limit(one.kind, one.quota if one.kind == "gcra" else draw.choice([1, 4, 20, 100]), one.window_ms, one.name, one.burst, one.resolution_ms if one.quota <= 128 else None)
        for one in limits
    ]


def some_rule(draw, index):
    kinds = ["log", "log", "counter", "fixed", "gcra", "in_flight"]
    limits = [some_limit(draw, number, kinds) for number in range(draw.choice([1, 1, 2, 3]))]
    match = draw.choice([{}, {}, {"path": "/login"}, {"path": "/v1/search/{*rest}"}, {"method": "POST"}, {"path": ["/login", "/status"], "method": ["POST", "PUT"]}])
    key = draw.choice([[], ["ip"], ["user"], ["user|ip"], ["ip", "user"], ["api_key|user", "ip"]])
    one_part = key in (["ip"], ["user"])
    mode = draw.choice(["enforce"] * 5 + ["observe"] * 2 + [{"enforce_for": [{"tier": "gold"}]}] + [{"enforce": "40%"}] * (key == ["user"]))
    rule = {
        "name": f"rule{index}",
        "match": match,
        "key": key,
        "limits": limits,
        "overrides": [({"user": draw.choice(USERS)}, other_quotas(draw, limits))] if draw.random() < 0.2 else [],
        "tiers": {"gold": other_quotas(draw, limits)} if draw.random() < 0.3 else {},
        "allow": [{"ip": "198.51.100.0/24"}] if draw.random() < 0.15 else [],
        "deny": [{"user": "mallory"}] if draw.random() < 0.15 else [],
        "missing": draw.choice(["shared", "skip", "deny"]) if key else "shared",
        "mode": mode,
    }
    if one_part and isinstance(mode, dict) and "enforce" in mode:
        rule["missing"] = "skip"
    return rule


def yaml(rules):
    """JSON is YAML."""
    written = []
    for rule in rules:
        fields = {
            "name": rule["name"],
            "match": rule["match"],
            "key": rule["key"],
            "limits": [limit.yaml() for limit in rule["limits"]],
            "overrides": [{"when": when, "limits": [limit.yaml() for limit in limits]} for when, limits in rule["overrides"]],
            "tiers": {tier: [limit.yaml() for limit in limits] for tier, limits in rule["tiers"].items()},
            "allow": rule["allow"],
            "deny": rule["deny"],
            "mode": rule["mode"],
        }
        if rule["key"]:
            fields["missing"] = rule["missing"]
        written.append(fields)
    return json.dumps({"version": 1, "rules": written}, indent=1)


def some_log(draw):
    now, lines = START_MS + draw.randrange(100_000), []
    for _ in range(draw.randint(50, 400)):
        now += draw.choice([0, 0, 1, 7, 40, 150, draw.randrange(3_000)])
        line = {"start_ms": now, "duration_ms": draw.choice([0, 3, 80, 700, 4_000, 20_000]), "status": draw.choice([200] * 20 + [404, 429]), "method": draw.choice(["GET", "POST", "POST", "PUT"]), "path": draw.choice(PATHS), "ip": draw.choice(IPS)}
        for name, values in [("user", USERS), ("api_key", ["k1", "203.0.113.7"]), ("tier", ["gold", "silver"])]:
            if draw.random() < 0.6:
                line[name] = draw.choice(values)
        lines.append(line)
    # Written when requests end, as logs are, and read in the order of their start.
    lines.sort(key=lambda line: line["start_ms"] + line["duration_ms"])
    return lines


def compare(program, seed, directory):
    draw = random.Random(seed)
    rules = [some_rule(draw, index) for index in range(draw.randint(1, 4))]
    lines = some_log(draw)
    skips = draw.random() < 0.3
    paths = {name: os.path.join(directory, f"{seed}-{name}") for name in ["policy.yaml", "access.json", "verdicts.json"]}
    with open(paths["policy.yaml"], "w") as file:
        file.write(yaml(rules))
    with open(paths["access.json"], "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    command = [program, "replay", paths["access.json"], "--policy", paths["policy.yaml"], "--verdicts", paths["verdicts.json"], "--json", "--limited", "skip" if skips else "ask"]
    for name in ["user", "api_key", "tier"]:
        command += ["--attribute", f"{name}={name}"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"seed {seed}: exit code {result.returncode}\n{result.stderr}")
    with open(paths["verdicts.json"]) as file:
        verdicts = [json.loads(line) for line in file]
    order = sorted(range(len(lines)), key=lambda index: (lines[index]["start_ms"], index))
    if len(verdicts) != len(lines):
        sys.exit(f"seed {seed}: {len(verdicts)} verdicts of {len(lines)} lines")
    model = Model(rules)
    counts = {}
    for index, verdict in zip(order, verdicts):
        line = lines[index]
        expected = record("skipped", []) if skips and line["status"] == 429 else model.decide(line)
        expected |= {"file": paths["access.json"], "line": index + 1, "at_ms": line["start_ms"]}
        if verdict != expected:
            policy = open(paths["policy.yaml"]).read()
            sys.exit(f"seed {seed}, line {index + 1}: {line}\nprogram: {verdict}\nmodel:   {expected}\n{policy}")
        counts[verdict["verdict"]] = counts.get(verdict["verdict"], 0) + 1
        counts["would refuse"] = counts.get("would refuse", 0) + bool(verdict["would_refuse"])
    report = json.loads(result.stdout)["requests"]
    if (report["denied"], report["blocked"]) != (counts.get("denied", 0), counts.get("blocked", 0)):
        sys.exit(f"seed {seed}: the report has {report}, the verdicts {counts}")
    for path in paths.values():
        os.remove(path)
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--logs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sums = {}
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(arguments.seed, arguments.seed + arguments.logs):
            for name, count in compare(arguments.program, seed, directory).items():
                sums[name] = sums.get(name, 0) + count
    text = ", ".join(f"{count} {name}" for name, count in sorted(sums.items()))
    print(f"{arguments.logs} logs are the same line by line: {text}")


if __name__ == "__main__":
    main()
