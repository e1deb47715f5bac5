/**
 * Requests by the installed package, in Node and in a browser: each to a path of a server that
 * refuses it once, in one style of headers after the other.
 */
import { CheckClient, stopReason, withRetry } from 'slidegate-client';

/** Statuses, waits and reasons by style, in a time that stands still and without jitter. */
export async function probe(address, styles, nowMs) {
  const outcomes = {};
  for (const style of styles) {
    const waits = [];
    const sleep = async (ms) => { waits.push(ms); };
    const environment = { sleep, random: () => 0, unixMs: () => nowMs };
    const retrying = withRetry(fetch, { environment });
    const response = await retrying(`${address}/api/${style}`, { method: 'POST', body: 'text' });
    const { status } = response;
    outcomes[style] = { status, body: await response.text(), waits, stop: stopReason(response) };
  }
  return outcomes;
}

/** Request with the timers of the platform, and a check. */
export async function probePlatform(address) {
  const retrying = withRetry(fetch, { environment: { random: () => 0.01 } });
  const response = await retrying(`${address}/api/zero`);
  const client = new CheckClient(`${address}/slidegate`, { maxAttempts: 2, timeoutMs: 30_000 });
  return { status: response.status, answer: await client.check({ attributes: { ip: '203.0.113.7' } }) };
}
