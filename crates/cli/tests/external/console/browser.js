// A browser on the console, and what holds whatever is done there.
'use strict';

const assert = require('node:assert/strict');
const { chromium } = require('playwright-core');

const options = JSON.parse(process.argv[2]);
/** A page that has not shown something for so long never will. */
const WITHIN_MS = 30_000;

/** Plays `scene` in a page of its own; `context` are settings of Playwright, `expected` errors that belong to the scene. */
async function play(scene, { context = {}, address = options.console, expected = [] } = {}) {
  // Root has no sandbox to put a browser into.
  const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: options.chromium, args });
  try {
    const settings = { viewport: { width: 1440, height: 900 }, ...context };
    const place = await browser.newContext(settings);
    place.setDefaultTimeout(WITHIN_MS);
    const wrong = [];
    const requests = [];
    place.on('request', (request) => requests.push(request.url()));
    place.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) wrong.push(message.text());
    });
    place.on('weberror', (error) => wrong.push(error.error().stack));
    const page = await place.newPage();
    page.on('dialog', (dialog) => wrong.push(`a dialog: ${dialog.message()}`));
    await page.goto(`${address}/`);
    await scene(page, { place, requests, settings });
    const { host } = new URL(address);
    // The icon is in the page itself.
    const foreign = requests.filter((url) => new URL(url).host !== host && !url.startsWith('data:'));
    assert.deepEqual(foreign, [], 'no request leaves the machine');
    assert.deepEqual(wrong.filter((text) => !expected.some((pattern) => pattern.test(text))), [], 'no errors');
  } finally {
    await browser.close();
  }
}

/** Asks the service itself; `status` and the answer. */
async function ask(url, body) {
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  return { status: reply.status, ...(await reply.json()) };
}

/** `POST /v1/check`, or a look where the cost is 0. */
function check(attributes, cost = 1) {
  return ask(`${options.http}/v1/check`, { attributes, cost });
}

/** Waits until `value` gives what `holds` accepts, and gives it. */
async function until(value, holds, what) {
  const deadline = Date.now() + WITHIN_MS;
  for (;;) {
    const now = await value();
    if (holds(now)) return now;
    assert.ok(Date.now() < deadline, `${what}: still ${JSON.stringify(now)}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

/** Until a text is this, or matches this. */
function shows(locator, text) {
  const holds = (current) => (text instanceof RegExp ? text.test(current) : current === text);
  return until(async () => (await locator.count() ? (await locator.first().innerText()).trim() : null), (current) => current != null && holds(current), `${text}`);
}

function run(scenes) {
  scenes().then(() => console.log('all of it holds'), (error) => {
    console.error(error);
    process.exitCode = 1;
  });
}

module.exports = { assert, options, play, ask, check, until, shows, run };
