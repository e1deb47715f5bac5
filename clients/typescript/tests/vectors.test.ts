/** Runs `vectors/advice.jsonl`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { advice, waitMs } from '../src/advice.ts';
import { setting } from './kit/program.ts';

interface Vector {
  name: string;
  status: number;
  headers: [string, string][];
  method: string;
  replayable: boolean;
  attempt: number;
  now_ms: number;
  max_wait_ms?: number;
  max_attempts?: number;
  expect: { delay_ms: number; jitter_ms: number } | { stop: string };
}

function read(path: URL | string): Vector[] {
  return readFileSync(path, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
}

const vectors = read(new URL('../../../vectors/advice.jsonl', import.meta.url));
/** Responses of an axum server in every style, with what the client in Rust reads in them. */
const recording = read(setting('SLIDEGATE_RECORDING'));

function answer({ now_ms: nowMs, max_wait_ms: maxWaitMs, max_attempts: maxAttempts, ...exchange }: Vector) {
  const settings = { ...(maxWaitMs != null && { maxWaitMs }), ...(maxAttempts != null && { maxAttempts }) };
  const action = advice({ ...exchange, nowMs }, settings);
  if (action.stop) return { stop: action.stop };
  return { delay_ms: action.delayMs, jitter_ms: action.jitterMs };
}

test('the vectors are all there', () => {
  assert.ok(vectors.length >= 205, `${vectors.length} vectors`);
  assert.equal(new Set(vectors.map(({ name }) => name)).size, vectors.length);
});

test('advice is that of the vectors', () => {
  const all = [...vectors, ...recording];
  const answers = all.map((vector) => ({ name: vector.name, expect: answer(vector) }));
  assert.deepEqual(answers, all.map(({ name, expect }) => ({ name, expect })));
});

test('the recording has every style', () => {
  const styles = new Set(recording.map(({ name }) => name.split(',')[0]));
  assert.deepEqual([...styles], ['draft', 'legacy', 'x-ratelimit', 'x-ratelimit-epoch', 'none']);
});

/** A client that sees only the combined value of repeated fields gets the same answer. */
test('advice on a Headers object is that on its pairs', () => {
  for (const vector of [...vectors, ...recording]) {
    if (vector.headers.some(([, value]) => /[^\0-\xff]/.test(value))) continue;
    const headers = [...new Headers(vector.headers)];
    assert.deepEqual(answer({ ...vector, headers }), vector.expect, vector.name);
  }
});

test('every jitter is equally likely, both ends included', () => {
  const backoff = { delayMs: 10, jitterMs: 3 };
  const waits = [0, 0.2499, 0.25, 0.5, 0.75, 0.9999].map((random) => waitMs(backoff, random));
  assert.deepEqual(waits, [10, 10, 11, 12, 13, 13]);
});
