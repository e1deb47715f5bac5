"""Memory of replays of a log and of one that is several times as long, with the same subjects.

    python3 memory.py PROGRAM [--megabytes N] [--times N]

The longer log has N megabytes, 1,000 by default, and is 10 times as long by default. The peak of the
resident memory of its replay may be at most 1.1 times that of the shorter one.
"""

import argparse
import os
import subprocess
import sys
import tempfile

START_S = 1_700_000_000
SUBJECTS_PER_MEGABYTE = 50
PER_SECOND = 400
MOST = 1.1
POLICY = """
version: 1
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [3/min] }
  - { name: all, key: [ip], limits: [5/s, 100/min] }
"""


def write_log(path, megabytes, subjects):
    """Subjects in an order that only looks random, so that all occur in every part of the log."""
    state, line, size = 1, 0, 0
    with open(path, "w", buffering=1 << 20) as file:
        while size < megabytes * 1_000_000:
            state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % (1 << 64)
            subject = (state >> 33) % subjects
            at = START_S + line / PER_SECOND
            path_ = "/login" if state >> 62 == 0 else "/v1/search?q=some+words"
            text = f'{{"start_ms":{int(at * 1_000)},"duration_ms":12,"status":200,"method":"POST","path":"{path_}","ip":"10.{subject >> 16}.{subject >> 8 & 255}.{subject & 255}","agent":"Mozilla/5.0 (X11; Linux x86_64)"}}\n'
            file.write(text)
            line, size = line + 1, size + len(text)
    return line


def replay(program, log, policy):
    """Peak of the resident memory in megabytes. The child reports it, because children of this process share one maximum."""
    runner = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    command = [sys.executable, "-c", runner, program, "replay", log, "--policy", policy]
    code, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if code != "0":
        sys.exit(f"replay ended with {code}")
    return int(kilobytes) / 1_024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as directory:
        policy = os.path.join(directory, "policy.yaml")
        with open(policy, "w") as file:
            file.write(POLICY)
        for megabytes in [arguments.megabytes / arguments.times, arguments.megabytes]:
            log = os.path.join(directory, "access.json")
            lines = write_log(log, megabytes, SUBJECTS_PER_MEGABYTE * arguments.megabytes)
            peaks.append(replay(arguments.program, log, policy))
            print(f"{megabytes:.0f} MB, {lines} lines: {peaks[-1]:.1f} MB of memory", flush=True)
    ratio = peaks[1] / peaks[0]
    print(f"{ratio:.3f} times, at most {MOST}")
    if ratio > MOST:
        sys.exit(1)


if __name__ == "__main__":
    main()
