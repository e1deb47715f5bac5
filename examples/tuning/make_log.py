"""Prints access.log: an hour of a small shop behind nginx, in the format `combined`.

Everything follows from the seed. The traffic has what logs of real services have: customers, an
office whose people share one address, somebody who tries passwords, and a scraper.
"""

import random
from datetime import datetime, timedelta, timezone

START = datetime(2026, 11, 16, 9, tzinfo=timezone.utc)
HOUR_S = 3600
CUSTOMERS = 1250
OFFICE = "192.0.2.10"
ATTACKER = "203.0.113.66"
SCRAPER = "198.51.100.23"
BROWSERS = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) Version/18.6 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) Chrome/141.0 Mobile Safari/537.36",
]
WORDS = ["lamp", "desk+lamp", "chair", "office+chair", "shelf", "oak+table", "rug", "mirror"]

# Of its methods, only `random` promises the same numbers in every version of Python.
draw = random.Random(19).random


def below(end):
    return int(draw() * end)


def some(more):
    """1, and another one with this probability, again and again."""
    count = 1
    while draw() < more:
        count += 1
    return count


class Log:
    def __init__(self):
        self.lines = []

    def add(self, at_s, ip, request, status, size, agent):
        self.lines.append((at_s, len(self.lines), ip, request, status, size, agent))

    def render(self):
        for at_s, _, ip, request, status, size, agent in sorted(self.lines):
            if at_s < HOUR_S:
                stamp = (START + timedelta(seconds=int(at_s))).strftime("%d/%b/%Y:%H:%M:%S +0000")
                print(f'{ip} - - [{stamp}] "{request} HTTP/1.1" {status} {size} "-" "{agent}"')


def visit(log, ip, at_s, agent):
    """A customer logs in, searches, looks at products, and may order one."""
    if draw() < 0.88:
        for _ in range(some(0.15) - 1):
            log.add(at_s, ip, "POST /api/login", 401, 96, agent)
            at_s += 4 + below(8)
        log.add(at_s, ip, "POST /api/login", 200, 412, agent)
    if draw() < 0.85:
        for _ in range(some(0.5)):
            at_s += 2 + below(15)
            word = WORDS[below(len(WORDS))]
            log.add(at_s, ip, f"GET /api/search?q={word}", 200, 2800 + below(900), agent)
    for _ in range(some(0.65)):
        at_s += 3 + below(20)
        product = 1000 + below(900)
        log.add(at_s, ip, f"GET /api/products/{product}", 200, 1300 + below(400), agent)
    if draw() < 0.3:
        log.add(at_s + 20 + below(60), ip, "POST /api/orders", 201, 180, agent)


def main():
    log = Log()
    for customer in range(CUSTOMERS):
        # A third comes by IPv4, where the networks for documentation have few addresses.
        if customer % 3 == 0:
            ip = f"{['198.51.100', '203.0.113'][customer // 3 % 2]}.{1 + customer // 6}"
        else:
            ip = f"2001:db8:{customer:x}:{below(4096):x}::{1 + below(9):x}"
        visit(log, ip, draw() * HOUR_S, BROWSERS[below(len(BROWSERS))])
    for _ in range(40):
        # At nine, the office starts to work.
        visit(log, OFFICE, draw() * 420, BROWSERS[0])
    for _ in range(60):
        visit(log, OFFICE, draw() * HOUR_S, BROWSERS[0])
    for attempt in range(540):
        log.add(1260 + attempt * 0.9 + draw(), ATTACKER, "POST /api/login", 401, 96, "python-requests/2.32")
    for product in range(720):
        request = f"GET /api/products/{1000 + product}"
        log.add(2430 + product * 0.35, SCRAPER, request, 200, 1300 + below(400), "Scrapy/2.13")
    log.render()


if __name__ == "__main__":
    main()
