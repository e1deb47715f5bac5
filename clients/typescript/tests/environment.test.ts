/** The environment of the platform: the only test of timers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { systemEnvironment } from '../src/environment.ts';

const { sleep, monotonicMs } = systemEnvironment;

test('a sleep is never shorter than it should be', async () => {
  for (const ms of [0, 0.5, 1, 2.25, 7]) {
    const startMs = monotonicMs();
    await sleep(ms);
    const sleptMs = monotonicMs() - startMs;
    assert.ok(sleptMs >= ms, `${sleptMs} ms of ${ms} ms`);
  }
});

test('a sleep beyond the longest timer does not end at once', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const controller = new AbortController();
  let isOver = false;
  const slept = sleep(2 ** 31 + 5, controller.signal).finally(() => { isOver = true; });
  context.mock.timers.tick(1_000);
  await Promise.resolve();
  assert.equal(isOver, false);
  controller.abort(new Error('enough'));
  await assert.rejects(slept, /enough/);
});

test('a signal ends a sleep with its reason, also before it begins', async () => {
  const controller = new AbortController();
  const slept = sleep(1_000_000, controller.signal);
  controller.abort('enough');
  await assert.rejects(slept, (reason) => reason === 'enough');
  await assert.rejects(sleep(1_000_000, controller.signal), (reason) => reason === 'enough');
});
