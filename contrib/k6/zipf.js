// Load on a server whose keys follow a Zipf distribution, as clients do: a few send most requests.
// See README.md for the variables. The keys of a run follow from SEED, so that runs can be compared.

import http from 'k6/http';
import exec from 'k6/execution';
import { check } from 'k6';
import { Counter } from 'k6/metrics';

const text = (name, otherwise) => __ENV[name] || otherwise;
const number = (name, otherwise) => Number(text(name, otherwise));

const server = text('SERVER', 'http://127.0.0.1:8080');
const attribute = text('ATTRIBUTE', 'ip');
const others = JSON.parse(text('ATTRIBUTES', '{"method":"POST","path":"/login"}'));
const keys = number('KEYS', 10000);
const exponent = number('EXPONENT', 1.1);
const seed = number('SEED', 1);

const load = __ENV.ITERATIONS
  ? { executor: 'shared-iterations', iterations: number('ITERATIONS'), vus: number('VUS', 10) }
  : {
      executor: 'constant-arrival-rate',
      rate: number('RATE', 1000),
      timeUnit: '1s',
      duration: text('DURATION', '30s'),
      preAllocatedVUs: number('VUS', 50),
      maxVUs: 1000,
    };

export const options = {
  scenarios: { zipf: load },
  // Any answer that is not a decision fails the run.
  thresholds: { checks: ['rate==1'] },
  summaryTrendStats: ['med', 'p(90)', 'p(99)', 'max'],
};

http.setResponseCallback(http.expectedStatuses(200, 429));

const allowed = new Counter('slidegate_allowed');
const denied = new Counter('slidegate_denied');
const first = new Counter('slidegate_first_key');

// Random numbers from 0 to 1 (mulberry32).
function random(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

// Rank from 1 to `keys`, of which rank k comes in proportion to k^-exponent: rejection-inversion
// (Hörmann and Derflinger, 1996), which needs no table.
const series = (x) => (Math.abs(x) > 1e-8 ? Math.expm1(x) / x : 1 + x / 2);
const inverse = (x) => (Math.abs(x) > 1e-8 ? Math.log1p(x) / x : 1 - x / 2);
const weight = (x) => Math.exp(-exponent * Math.log(x));
const integral = (x) => series((1 - exponent) * Math.log(x)) * Math.log(x);
const position = (y) => Math.exp(inverse(Math.max(-1, y * (1 - exponent))) * y);
const begin = integral(1.5) - 1;
const end = integral(keys + 0.5);
const shortcut = 2 - position(integral(2.5) - weight(2));

function rank(next) {
  for (;;) {
    const y = end + next() * (begin - end);
    const x = position(y);
    const k = Math.min(Math.max(Math.round(x), 1), keys);
    if (k - x <= shortcut || y >= integral(k + 0.5) - weight(k)) return k;
  }
}

// An address of 10.0.0.0/8, or the number itself.
function value(k) {
  return attribute === 'ip' ? `10.${(k >> 16) & 255}.${(k >> 8) & 255}.${k & 255}` : `key-${k}`;
}

export default function () {
  const k = rank(random(Math.imul(exec.scenario.iterationInTest + 1, 0x9e3779b9) ^ seed));
  const attributes = Object.assign({}, others, { [attribute]: value(k) });
  const answer = http.post(`${server}/v1/check`, JSON.stringify({ attributes }), {
    headers: { 'content-type': 'application/json' },
    tags: { name: '/v1/check' },
  });
  check(answer, { 'is a decision': ({ status }) => status === 200 || status === 429 });
  (answer.status === 429 ? denied : allowed).add(1);
  if (k === 1) first.add(1);
}
