/** The check client: over a server that loses responses, and over the real one. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';

import {
  CheckClient, withRetry, type CheckClientOptions, type DeniedAnswer, type Fetch,
} from '../src/index.ts';
import { VirtualEnvironment } from './kit/environment.ts';
import { startSlidegate } from './kit/program.ts';
import { startServer } from './kit/server.ts';

const LOGIN = { attributes: { method: 'POST', path: '/login', ip: '203.0.113.7' } };

type Reply = (response: ServerResponse) => void;

function json(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

const ALLOWED = json(200, { allowed: true, remaining: 4 });
const UNAVAILABLE = json(503, { detail: 'the store does not answer' }, { 'retry-after': '2' });
const lost: Reply = (response) => response.destroy();

/** Client of a server that gives one reply after the other; the last one for ever. */
async function setUp(context: TestContext, replies: Reply[], options: CheckClientOptions = {}) {
  const rest = [...replies];
  const { address, received } = await startServer(context, (_, response) => {
    const reply = rest.length > 1 ? rest.shift() : rest[0];
    reply?.(response);
  });
  const environment = new VirtualEnvironment();
  return { environment, received, client: new CheckClient(`${address}/`, { environment, ...options }) };
}

test('a call is a POST of JSON with the token', async (context) => {
  const reply = json(200, { allowed: true, outcome: 'settled' });
  const { client, received } = await setUp(context, [reply], { token: 't0ken' });
  await client.check({ ...LOGIN, cost: 3 });
  await client.settle('permit', 5);
  await client.refund('permit');
  const calls = received.map(({ method, path, body }) => [`${method} ${path}`, JSON.parse(body)]);
  assert.deepEqual(calls, [
    ['POST /v1/check', { ...LOGIN, cost: 3 }],
    ['POST /v1/settle', { permit: 'permit', cost: 5 }],
    ['POST /v1/refund', { permit: 'permit' }],
  ]);
  for (const { headers } of received) {
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers.authorization, 'Bearer t0ken');
  }
});

test('without retries a failure is an error, and there is no key', async (context) => {
  for (const [reply, status] of [[lost, undefined], [UNAVAILABLE, 503]] as const) {
    const { client, received } = await setUp(context, [reply]);
    await assert.rejects(client.check(LOGIN), { name: 'CheckError', status });
    assert.deepEqual(received.map(({ body }) => JSON.parse(body)), [LOGIN]);
  }
});

test('a check that is sent again has one key from the first attempt on', async (context) => {
  const replies = [lost, UNAVAILABLE, lost, ALLOWED];
  const { client, environment, received } = await setUp(context, replies, { maxAttempts: 5 });
  assert.equal((await client.check(LOGIN)).allowed, true);
  const keys = received.map(({ body }) => JSON.parse(body).idempotency_key);
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  assert.deepEqual(keys, Array(4).fill(keys[0]));
  const [lostMs = 0, unavailableMs = 0] = environment.sleeps;
  assert.ok(lostMs <= 1_000, `${lostMs}`);
  assert.ok(unavailableMs >= 2_000 && unavailableMs <= 6_000, `${unavailableMs}`);
  await client.check(LOGIN);
  assert.notEqual(JSON.parse(received.at(-1)?.body ?? '').idempotency_key, keys[0]);
});

test('attempts end', async (context) => {
  const { client, received } = await setUp(context, [lost], { maxAttempts: 3 });
  const expected = { name: 'CheckError', message: 'no response from the server' };
  await assert.rejects(client.refund('permit'), expected);
  assert.equal(received.length, 3);
});

test('a denial is an answer and not retried', async (context) => {
  const denial = { allowed: false, retry_after_ms: 1_500, limits: [], detail: 'denied' };
  const reply = json(429, denial, { 'retry-after': '2' });
  const { client, received } = await setUp(context, [reply], { maxAttempts: 5 });
  assert.deepEqual(await client.check(LOGIN), denial);
  assert.equal(received.length, 1);
});

test('whatever is no answer is an error that says why', async (context) => {
  const cases: [Reply, RegExp][] = [
    [json(401, { detail: 'the token is missing' }), /^the server answered 401: the token is missing$/],
    [json(429, { detail: 'too many permits', outcome: 'too_many_permits' }), /429: too many permits$/],
    [json(403, { detail: 'no permit' }), /403: no permit/],
    [json(200, '<html>'), /200: <html>$/],
    [json(200, 'null'), /200: null$/],
    [json(200, '{}'), /200: \{\}$/],
    [json(200, 'x'.repeat(2 ** 20 + 1)), /^no response from the server$/],
    [json(502, 'x'.repeat(1_000)), /502: x{200}$/],
  ];
  for (const [reply, message] of cases) {
    const { client } = await setUp(context, [reply]);
    await assert.rejects(client.check(LOGIN), { name: 'CheckError', message });
  }
  const { client } = await setUp(context, [json(403, { detail: 'not a permit' })]);
  await assert.rejects(client.settle('x', 1), { message: /403: not a permit/, status: 403 });
});

test('a spent permit is an outcome', async (context) => {
  const { client } = await setUp(context, [json(409, { outcome: 'already_spent', detail: 'used before' })]);
  assert.equal((await client.refund('permit')).outcome, 'already_spent');
});

test('an attempt has a timeout, after which it is sent again', async () => {
  let calls = 0;
  const hangingOnce: Fetch = (_, init) => new Promise((resolve, reject) => {
    calls += 1;
    if (calls > 1) resolve(new Response('{"allowed":true}'));
    else init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
  });
  const options = { fetch: hangingOnce, environment: new VirtualEnvironment(), timeoutMs: 1 };
  const client = new CheckClient('http://127.0.0.1:8080', options);
  await assert.rejects(client.check({ ...LOGIN, wait_ms: 2 }), { message: /within 3 ms$/ });
  calls = 0;
  const retrying = new CheckClient('http://127.0.0.1:8080', { ...options, maxAttempts: 2 });
  assert.equal((await retrying.check(LOGIN)).allowed, true);
  assert.equal(calls, 2);
});

test('a timeout beyond the longest timer does not end at once', async (context) => {
  const { client } = await setUp(context, [ALLOWED], { timeoutMs: Number.MAX_SAFE_INTEGER });
  assert.equal((await client.check(LOGIN)).allowed, true);
});

test('a signal ends a call with its reason', async (context) => {
  const controller = new AbortController();
  const abort: Reply = () => controller.abort(new Error('enough'));
  const { client, received } = await setUp(context, [abort], { maxAttempts: 5 });
  await assert.rejects(client.check(LOGIN, { signal: controller.signal }), /^Error: enough$/);
  assert.equal(received.length, 1);
});

test('an address that is none is an error at once', () => {
  assert.throws(() => new CheckClient('localhost'), { code: 'ERR_INVALID_URL' });
});

const POLICY = `
version: 1
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [2/min] }
  - { name: work, match: { path: /work }, key: [user], limits: [10/min], refundable: true }
  - { name: closed, match: { path: /closed }, key: [ip], limits: [1/s], deny: [{ ip: 203.0.113.7 }] }
`;

test('the real server: allowed, denied, blocked', async (context) => {
  const client = new CheckClient(await startSlidegate(context, POLICY));
  const answers = [];
  for (let request = 0; request < 3; request += 1) answers.push(await client.check(LOGIN));
  assert.deepEqual(answers.map(({ allowed }) => allowed), [true, true, false]);
  const denial = answers[2] as DeniedAnswer;
  assert.ok((denial.retry_after_ms ?? 0) > 0);
  assert.deepEqual(denial['violated-policies'], ['login-2/min']);
  const blocked = await client.check({ attributes: { path: '/closed', ip: '203.0.113.7' } });
  assert.ok(!blocked.allowed && 'rule' in blocked && blocked.rule === 'closed');
  await assert.rejects(client.check({ ...LOGIN, cost: -1 }), { name: 'CheckError', status: 400 });
});

test('the real server: settlements and refunds', async (context) => {
  const client = new CheckClient(await startSlidegate(context, POLICY), { maxAttempts: 3 });
  const work = (cost: number) => client.check({ attributes: { path: '/work', user: 'alice' }, cost });
  const reserved = await work(8);
  assert.ok(reserved.allowed && reserved.permit !== undefined && reserved.remaining === 2);
  assert.equal((await client.settle(reserved.permit, 3)).outcome, 'settled');
  assert.equal((await client.refund(reserved.permit)).outcome, 'already_spent');
  const rest = await work(0);
  assert.ok(rest.allowed && rest.remaining === 7);
  await assert.rejects(client.refund('forged'), { name: 'CheckError', status: 403 });
});

test('the real server: a check whose response was lost is charged once', async (context) => {
  let losses = 2;
  const losing: Fetch = async (input, init) => {
    const response = await fetch(input, init);
    losses -= 1;
    if (losses >= 0) throw new TypeError('the connection was lost');
    return response;
  };
  const environment = new VirtualEnvironment();
  const server = await startSlidegate(context, POLICY);
  const client = new CheckClient(server, { fetch: losing, environment, maxAttempts: 5 });
  const answer = await client.check(LOGIN);
  assert.ok(answer.allowed && answer.replayed === true && answer.remaining === 1);
});

/** Styles of headers, each with a header of a refusal and its value. */
const STYLES: Record<string, [name: string, value: RegExp]> = {
  draft: ['ratelimit', /r=0/],
  legacy: ['ratelimit-remaining', /^0$/],
  'x-ratelimit': ['x-ratelimit-remaining', /^0$/],
  none: ['retry-after', /^60$/],
};

for (const [style, [name, value]] of Object.entries(STYLES)) {
  test(`the real server: the headers ${style} of a refusal are obeyed`, async (context) => {
    const address = await startSlidegate(context, POLICY, '--headers', style);
    const environment = new VirtualEnvironment();
    const retrying = withRetry(fetch, { environment, maxAttempts: 2 });
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ ...LOGIN, cost: 2 }) };
    assert.equal((await retrying(`${address}/v1/check`, init)).status, 200);
    // Time stands still for the server, so that the second attempt is refused too.
    const refusal = await retrying(`${address}/v1/check`, init);
    assert.equal(refusal.status, 429);
    assert.match(refusal.headers.get(name) ?? '', value);
    const [sleepMs = 0] = environment.sleeps;
    assert.ok(sleepMs > 50_000 && sleepMs <= 120_000, `${sleepMs}`);
  });
}
