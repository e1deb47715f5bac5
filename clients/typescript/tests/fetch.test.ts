/** `withRetry` in virtual time, over a `fetch` that answers from a list. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { stopReason, withRetry, type Fetch, type RetryOptions } from '../src/index.ts';
import { VirtualEnvironment } from './kit/environment.ts';

const ADDRESS = 'https://api.example.com/items';

type Headers = Record<string, string>;

/** Environment in which no jitter takes time. */
const NO_JITTER = { random: () => 0 };

/** `fetch` that answers one status after the other, and then 200. It records its calls. */
function scripted(statuses: number[], headers: Headers = {}) {
  const calls: Parameters<Fetch>[] = [];
  const rest = [...statuses];
  const fetch: Fetch = async (...call) => {
    calls.push(call);
    return new Response('body', { status: rest.shift() ?? 200, headers });
  };
  return { fetch, calls };
}

function setUp(statuses: number[], headers?: Headers, options?: RetryOptions) {
  const environment = new VirtualEnvironment(options?.environment?.random);
  const { fetch, calls } = scripted(statuses, headers);
  return { environment, calls, retrying: withRetry(fetch, { ...options, environment }) };
}

test('a refused request is sent again after the delay and jitter', async () => {
  const { environment, calls, retrying } = setUp([429, 429, 429, 429], { 'retry-after': '2' });
  const init = { method: 'POST', body: 'text', headers: { a: 'b' } };
  const response = await retrying(ADDRESS, init);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), 'body');
  assert.equal(stopReason(response), 'not_refused');
  assert.deepEqual(calls, Array(5).fill([ADDRESS, init]));
  for (const [attempt, mostMs] of [4_000, 6_000, 10_000, 18_000].entries()) {
    const sleepMs = environment.sleeps[attempt] ?? 0;
    assert.ok(sleepMs >= 2_000 && sleepMs <= mostMs, `${sleepMs}`);
  }
});

test('the last response is returned, and no 429 is an error', async () => {
  const { calls, retrying } = setUp(Array(9).fill(429));
  const response = await retrying(ADDRESS);
  assert.equal(response.status, 429);
  assert.equal(await response.text(), 'body');
  assert.equal(stopReason(response), 'attempts_exhausted');
  assert.equal(calls.length, 5);
});

test('settings bound the attempts and the wait', async () => {
  const once = setUp([429], {}, { maxAttempts: 1 });
  assert.equal((await once.retrying(ADDRESS)).status, 429);
  const long = setUp([429, 429], { 'retry-after': '61' });
  assert.equal(stopReason(await long.retrying(ADDRESS)), 'wait_too_long');
  const longer = setUp([429], { 'retry-after': '61' }, { maxWaitMs: 61_000 });
  assert.equal((await longer.retrying(ADDRESS)).status, 200);
  assert.deepEqual([once, long, longer].map(({ calls }) => calls.length), [1, 1, 2]);
});

test('a 503 is retried if it says when and the method is idempotent', async () => {
  const cases: [string | undefined, Headers, number][] = [
    [undefined, { 'retry-after': '1' }, 200],
    ['put', { 'retry-after': '1' }, 200],
    ['POST', { 'retry-after': '1' }, 503],
    ['GET', {}, 503],
  ];
  for (const [method, headers, status] of cases) {
    const { retrying } = setUp([503], headers);
    assert.equal((await retrying(ADDRESS, method ? { method } : {})).status, status, method);
  }
});

test('bodies that can be read once are sent once', async () => {
  async function* iterator() { yield new Uint8Array(1); }
  const form = new FormData();
  form.set('a', 'b');
  const bodies: [unknown, boolean][] = [
    [undefined, true], [null, true], ['text', true], ['', true],
    [new Uint8Array(2), true], [new ArrayBuffer(2), true], [new DataView(new ArrayBuffer(2)), true],
    [new Blob(['a']), true], [new File(['a'], 'name'), true], [Buffer.from('a'), true],
    [form, true], [new URLSearchParams('a=b'), true],
    [new ReadableStream(), false], [new Blob(['a']).stream(), false],
    [iterator(), false], [{ pipe() {} }, false],
  ];
  for (const [body, isReplayable] of bodies) {
    const { retrying } = setUp([429]);
    const response = await retrying(ADDRESS, { method: 'POST', body: body as BodyInit });
    assert.equal(stopReason(response), isReplayable ? 'not_refused' : 'not_replayable', String(body));
  }
});

test('a Request is sent again unless it has a body', async () => {
  const cases: [Request, RequestInit | undefined, boolean][] = [
    [new Request(ADDRESS), undefined, true],
    [new Request(ADDRESS, { method: 'DELETE' }), undefined, true],
    [new Request(ADDRESS, { method: 'POST', body: 'text' }), undefined, false],
    [new Request(ADDRESS, { method: 'POST', body: 'text' }), { body: 'other' }, true],
  ];
  for (const [request, init, isReplayable] of cases) {
    const { retrying } = setUp([429]);
    assert.equal(stopReason(await retrying(request, init)), isReplayable ? 'not_refused' : 'not_replayable');
  }
});

test('the body of a refusal is not left open', async () => {
  let cancelled = 0;
  const statuses = [429, 200];
  const fetch: Fetch = async () => {
    const body = new ReadableStream({ cancel() { cancelled += 1; throw new Error('broken'); } });
    return new Response(body, { status: statuses.shift() ?? 200 });
  };
  const response = await withRetry(fetch, { environment: new VirtualEnvironment() })(ADDRESS);
  assert.equal(response.status, 200);
  assert.equal(cancelled, 1);
});

test('errors of the network are passed on', async () => {
  const error = new TypeError('fetch failed');
  let calls = 0;
  const retrying = withRetry(() => { calls += 1; return Promise.reject(error); });
  await assert.rejects(retrying(ADDRESS), error);
  assert.equal(calls, 1);
});

test('a signal ends a wait, with its reason', async () => {
  const reason = new Error('enough');
  for (const asRequest of [false, true]) {
    const controller = new AbortController();
    const { fetch, calls } = scripted(Array(9).fill(429), { 'retry-after': '50' });
    const retrying = withRetry(async (...call) => {
      setImmediate(() => controller.abort(reason));
      return fetch(...call);
    });
    const init = { signal: controller.signal };
    await assert.rejects(asRequest ? retrying(new Request(ADDRESS, init)) : retrying(ADDRESS, init), reason);
    assert.equal(calls.length, 1);
  }
});

test('a retry whose wait is aborted is given back to the budget', async () => {
  let isAborted = true;
  const sleep = async () => { if (isAborted) throw new Error('aborted'); };
  const { fetch } = scripted(Array(100).fill(429));
  const retrying = withRetry(fetch, { maxAttempts: 2, environment: { sleep } });
  for (let request = 0; request < 20; request += 1) await assert.rejects(retrying(ADDRESS), /aborted/);
  isAborted = false;
  let retried = 0;
  while (stopReason(await retrying(ADDRESS)) === 'attempts_exhausted') retried += 1;
  assert.ok(retried >= 10, `${retried}`);
});

test('the budget is that of the origin', async () => {
  const options = { maxAttempts: 2, environment: NO_JITTER };
  const { environment, retrying } = setUp(Array(1_000).fill(429), {}, options);
  const isRetried = async (address: string | URL) => (
    stopReason(await retrying(address)) === 'attempts_exhausted'
  );
  let retried = 0;
  for (let request = 0; request < 20; request += 1) {
    if (await isRetried(`${ADDRESS}/${request}`)) retried += 1;
  }
  // Ten, and one for every five requests.
  assert.equal(retried, 14);
  assert.equal(stopReason(await retrying(new URL(ADDRESS))), 'budget_exhausted');
  assert.equal(await isRetried('https://other.example.com'), true);
  environment.nowMs += 11_000;
  assert.equal(await isRetried(new URL(ADDRESS)), true);
});

test('of too many origins the least recently used is forgotten', async () => {
  const options = { maxAttempts: 100, environment: NO_JITTER };
  const { environment, retrying } = setUp(Array(9_000).fill(429), {}, options);
  const retries = async () => {
    const { length } = environment.sleeps;
    assert.equal(stopReason(await retrying(ADDRESS)), 'budget_exhausted');
    return environment.sleeps.length - length;
  };
  const visitOthers = async (first: number, count: number) => {
    for (let host = first; host < first + count; host += 1) {
      await retrying(`https://${host}.example.com`, { method: 'POST', body: new ReadableStream() });
    }
  };
  assert.equal(await retries(), 10);
  await visitOthers(0, 1_023);
  assert.equal(await retries(), 0);
  await visitOthers(1_023, 1_024);
  assert.equal(await retries(), 10);
});

test('a pause applies to all requests of the origin', async () => {
  const { environment, retrying } = setUp([429], { 'retry-after': '5' }, { pause: true });
  const refused = await retrying(ADDRESS, { method: 'POST', body: new ReadableStream() });
  assert.equal(stopReason(refused), 'not_replayable');
  await retrying('https://other.example.com');
  assert.deepEqual(environment.sleeps, []);
  const startMs = environment.nowMs;
  const waits = await Promise.all(Array.from({ length: 10 }, async () => {
    await retrying(ADDRESS);
    return environment.nowMs - startMs;
  }));
  assert.ok(waits.every((ms) => ms >= 5_000 && ms <= 10_000), `${waits}`);
  assert.ok(new Set(waits).size > 5, `${waits}`);
  const { length } = environment.sleeps;
  await retrying(ADDRESS);
  assert.equal(environment.sleeps.length, length);
});

test('pauses are opt-in and bounded', async () => {
  for (const [options, seconds] of [[{}, '9'], [{ pause: true }, '61']] as const) {
    const { environment, retrying } = setUp([429], { 'retry-after': seconds }, options);
    await retrying(ADDRESS, { method: 'POST', body: new ReadableStream() });
    await retrying(ADDRESS);
    assert.deepEqual(environment.sleeps, []);
  }
});

const POLICY = '"burst";q=50;w=60, "day";q=1000;w=86400';

test('requests are paced when little is left', async () => {
  const environment = new VirtualEnvironment();
  const limits = ['"burst";r=5;t=20, "day";r=100;t=50', '"burst";r=4;t=20, "day";r=100;t=50'];
  const retrying = withRetry(async () => {
    const limit = limits.shift();
    return new Response('', { headers: limit ? { ratelimit: limit, 'ratelimit-policy': POLICY } : {} });
  }, { environment, pace: true });
  const waitMs = async () => {
    const startMs = environment.nowMs;
    await retrying(ADDRESS);
    return environment.nowMs - startMs;
  };
  assert.equal(await waitMs(), 0);
  assert.equal(await waitMs(), 0);
  // 4 of 50 are left for 20 s.
  for (let request = 0; request < 5; request += 1) assert.equal(await waitMs(), 4_000);
  // The quota is renewed.
  assert.equal(await waitMs(), 0);
});

test('concurrent requests keep the pace, and no turn is further away than the longest wait', async () => {
  const headers = { ratelimit: 'day;r=9;t=86400', 'ratelimit-policy': 'day;q=1000' };
  const { environment, retrying } = setUp([200], headers, { pace: true, maxWaitMs: 9_000_000 });
  await retrying(ADDRESS);
  const startMs = environment.nowMs;
  const waits = await Promise.all([1, 2].map(async () => {
    await retrying(ADDRESS);
    return environment.nowMs - startMs;
  }));
  assert.deepEqual(waits, [8_640_000, 9_000_000]);
  const off = setUp([200], headers);
  await off.retrying(ADDRESS);
  await off.retrying(ADDRESS);
  assert.deepEqual(off.environment.sleeps, []);
});
