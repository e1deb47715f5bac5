import assert from 'node:assert/strict';
import { test } from 'node:test';

import { RetryBudget } from '../src/budget.ts';
import { forEachCase } from './kit/cases.ts';

const WINDOW_MS = 10_000;

/** Retries that a budget allows of a hundred, all of which are sent at once. */
function retries(budget: RetryBudget, nowMs: number): number {
  let count = 0;
  for (let index = 0; index < 100; index += 1) {
    if (budget.tryRetry(nowMs)) {
      budget.recordRetry(nowMs);
      count += 1;
    }
  }
  return count;
}

test('ten retries need no requests', () => {
  assert.equal(retries(new RetryBudget(), 5_000), 10);
});

test('a fifth of the requests may be retried', () => {
  const budget = new RetryBudget();
  for (let count = 0; count < 104; count += 1) budget.recordRequest(5_000);
  assert.equal(retries(budget, 5_000), 30);
});

test('retries leave the window', () => {
  const budget = new RetryBudget();
  assert.equal(retries(budget, 0), 10);
  assert.equal(retries(budget, 10_000), 0);
  assert.equal(retries(budget, 11_000), 10);
  assert.equal(retries(budget, Number.MAX_SAFE_INTEGER), 10);
});

test('a retry counts while it waits, and then from the time at which it is sent', () => {
  const budget = new RetryBudget();
  assert.equal(budget.tryRetry(0), true);
  assert.equal(retries(budget, 20_000), 9);
  budget.recordRetry(25_000);
  assert.equal(retries(budget, 32_000), 9);
  assert.equal(retries(budget, 36_000), 1);
});

test('a retry that is not sent is given back', () => {
  const budget = new RetryBudget();
  assert.equal(budget.tryRetry(0), true);
  budget.cancelRetry();
  assert.equal(retries(budget, 0), 10);
});

test('a clock that goes back frees nothing', () => {
  const budget = new RetryBudget();
  assert.equal(retries(budget, 50_000), 10);
  for (let step = 0; step < 100; step += 1) assert.equal(retries(budget, 50_000 - step * 400), 0);
});

/** By a list of everything. */
test('when a retry is taken, no window has more of them than the budget', () => {
  forEachCase((choice) => {
    const budget = new RetryBudget();
    const times = { requests: [] as number[], retries: [] as number[] };
    let nowMs = 0;
    let waiting = 0;
    const inWindow = (list: number[]) => list.filter((time) => nowMs < time + WINDOW_MS).length;
    for (let steps = choice.below(100); steps > 0; steps -= 1) {
      const action = choice.below(5);
      if (action === 0) {
        nowMs += choice.below(4_000);
      } else if (action === 1) {
        budget.recordRequest(nowMs);
        times.requests.push(nowMs);
      } else if (action === 2 && waiting > 0) {
        waiting -= 1;
        budget.recordRetry(nowMs);
        times.retries.push(nowMs);
      } else if (budget.tryRetry(nowMs)) {
        waiting += 1;
        const total = waiting + inWindow(times.retries);
        assert.ok(total <= inWindow(times.requests) / 5 + 10, `${total} at ${nowMs}`);
      }
    }
  });
});
