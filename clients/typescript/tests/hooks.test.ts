/** The hooks of ky, axios and p-retry, in the real libraries over a real server. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';

import axios, { type AxiosError } from 'axios';
import ky, { HTTPError, type Options } from 'ky';
import pRetry from 'p-retry';

import { addAxiosRetry, kyOptions, pRetryOptions, type RetryOptions } from '../src/index.ts';
import { VirtualEnvironment } from './kit/environment.ts';
import { startRefusing, startServer } from './kit/server.ts';

const TWO_SECONDS = { headers: { 'retry-after': '2' } };

/** Error with a response, as those of many clients of HTTP. */
class ResponseError extends Error {
  readonly response: Response;

  constructor(response: Response) {
    super(`status ${response.status}`);
    this.response = response;
  }
}

/** Outcome of a request: the status and, of a success, the body. */
interface Outcome {
  readonly status: number;
  readonly body?: string;
}

interface RequestOptions {
  readonly method?: string;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

type Send = (address: string, options?: RequestOptions) => Promise<Outcome>;

/** Ways to send a request, by the name of the library. */
const LIBRARIES: Record<string, (options: RetryOptions) => Send> = {
  ky(options) {
    // ky's types have more fields; that this is assignable is part of the test.
    const client = ky.create(kyOptions(options) satisfies Options);
    return async (address, request = {}) => {
      try {
        const response = await client(address, request);
        return { status: response.status, body: await response.text() };
      } catch (error) {
        if (error instanceof HTTPError) return { status: error.response.status };
        throw error;
      }
    };
  },
  axios(options) {
    const client = axios.create();
    addAxiosRetry(client, options);
    return async (address, { method = 'GET', body, signal } = {}) => {
      try {
        const { status, data } = await client.request({
          url: address, method, ...(body && { data: body }), ...(signal && { signal }),
        });
        return { status, body: data };
      } catch (error) {
        const { response } = error as AxiosError;
        if (response === undefined) throw error;
        return { status: response.status };
      }
    };
  },
  'p-retry'(options) {
    return async (address, { signal, ...request } = {}) => {
      const { method = 'GET' } = request;
      try {
        return await pRetry(async () => {
          const response = await fetch(address, request);
          if (!response.ok) throw new ResponseError(response);
          return { status: response.status, body: await response.text() };
        }, pRetryOptions({ ...options, method, ...(signal && { signal }) }));
      } catch (error) {
        if (error instanceof ResponseError) return { status: error.response.status };
        throw error;
      }
    };
  },
};

for (const [library, sender] of Object.entries(LIBRARIES)) {
  const setUp = (options: RetryOptions = {}) => {
    const environment = new VirtualEnvironment();
    return { environment, send: sender({ ...options, environment }) };
  };

  test(`${library}: a refused request is sent again, with its body`, async (context) => {
    const { environment, send } = setUp();
    const { address, received } = await startRefusing(context, 2, TWO_SECONDS);
    const outcome = await send(`${address}/items`, { method: 'POST', body: '{"a": 1}' });
    assert.deepEqual(outcome, { status: 200, body: 'got {"a": 1}' });
    assert.deepEqual(received.map(({ method, path }) => `${method} ${path}`), Array(3).fill('POST /items'));
    const [first = 0, second = 0, ...more] = environment.sleeps;
    assert.ok(first >= 2_000 && first <= 4_000, `${first}`);
    assert.ok(second >= 2_000 && second <= 6_000, `${second}`);
    assert.deepEqual(more, []);
  });

  test(`${library}: the last refusal is the result`, async (context) => {
    const { send } = setUp();
    const { address, received } = await startRefusing(context, 9);
    assert.deepEqual(await send(address), { status: 429 });
    assert.equal(received.length, 5);
  });

  test(`${library}: a delay above the longest wait, and other statuses, are not retried`, async (context) => {
    const cases = [
      { headers: { 'retry-after': '61' } }, { status: 503 }, { status: 500, ...TWO_SECONDS },
    ];
    for (const refusal of cases) {
      const { environment, send } = setUp();
      const { address, received } = await startRefusing(context, 9, refusal);
      assert.deepEqual(await send(address), { status: refusal.status ?? 429 });
      assert.deepEqual([received.length, environment.sleeps.length], [1, 0]);
    }
  });

  test(`${library}: a 503 is retried for idempotent methods`, async (context) => {
    for (const [method, status] of [['PUT', 200], ['POST', 503]] as const) {
      const { address } = await startRefusing(context, 1, { status: 503, ...TWO_SECONDS });
      assert.equal((await setUp().send(address, { method, body: 'a' })).status, status);
    }
  });

  test(`${library}: a lost response is not retried`, async (context) => {
    const { address, received } = await startServer(context, (_, response) => response.destroy());
    await assert.rejects(setUp().send(address, { method: 'POST', body: 'a' }));
    assert.equal(received.length, 1);
  });

  test(`${library}: a signal ends a wait`, async (context) => {
    const controller = new AbortController();
    const { address, received } = await startRefusing(context, 9, { headers: { 'retry-after': '50' } });
    const sleep = (_: number, signal?: AbortSignal) => new Promise<void>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
      setImmediate(() => controller.abort(new Error('enough')));
    });
    const send = sender({ environment: { sleep } });
    await assert.rejects(send(address, { signal: controller.signal }), /enough/);
    assert.equal(received.length, 1);
  });

  test(`${library}: a pause is observed`, async (context) => {
    const { environment, send } = setUp({ pause: true, maxAttempts: 2 });
    const { address } = await startRefusing(context, 2, TWO_SECONDS);
    assert.deepEqual(await send(address), { status: 429 });
    const startMs = environment.nowMs;
    assert.equal((await send(address)).status, 200);
    // p-retry has no hook before the first attempt.
    assert.equal(environment.nowMs - startMs >= 2_000, library !== 'p-retry');
  });
}

test('axios: data is transformed once, and a stream is sent once', async (context: TestContext) => {
  const client = axios.create();
  addAxiosRetry(client, { environment: new VirtualEnvironment() });
  const server = await startRefusing(context, 1);
  const { data } = await client.post(server.address, { a: [1] });
  assert.equal(data, 'got {"a":[1]}');
  const types = server.received.map(({ headers }) => headers['content-type']);
  assert.deepEqual(types, Array(2).fill('application/json'));
  const refusing = await startRefusing(context, 9);
  await assert.rejects(client.post(refusing.address, Readable.from(['a'])), { status: 429 });
  assert.equal(refusing.received.length, 1);
});

test('axios: a status that validateStatus accepts is retried too', async (context) => {
  const client = axios.create({ validateStatus: () => true });
  addAxiosRetry(client, { environment: new VirtualEnvironment() });
  const { address, received } = await startRefusing(context, 9);
  assert.equal((await client.get(address)).status, 429);
  assert.equal(received.length, 5);
});

test('p-retry: headers of axios are read too', async (context) => {
  const { address, received } = await startRefusing(context, 1, TWO_SECONDS);
  const environment = new VirtualEnvironment();
  const { data } = await pRetry(() => axios.get(address), pRetryOptions({ environment }));
  assert.equal(data, 'got ');
  assert.equal(received.length, 2);
  assert.ok((environment.sleeps[0] ?? 0) >= 2_000);
});
