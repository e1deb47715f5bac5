// The HTML report of a replay in a browser: it loads nothing, fits every screen, and keeps nobody out.
'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const axe = require('axe-core');
const { chromium } = require('playwright-core');

const options = JSON.parse(process.argv[2]);
const address = pathToFileURL(options.report).href;
const WIDTHS = [320, 768, 1280];

/** Opens the report and calls `scene` with the page. */
async function play(browser, colorScheme, scene) {
  const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 900 } });
  const requests = [];
  const errors = [];
  context.on('request', (request) => requests.push(request.url()));
  context.on('console', (message) => errors.push(message.text()));
  context.on('weberror', (error) => errors.push(error.error().stack));
  const page = await context.newPage();
  page.on('dialog', (dialog) => errors.push(`a dialog: ${dialog.message()}`));
  await page.goto(address);
  await scene(page);
  const others = requests.filter((url) => url.split('#')[0] !== address && url !== 'data:,');
  assert.deepEqual(others, [], 'nothing is loaded');
  assert.deepEqual(errors, [], 'no errors');
  await context.close();
}

async function fits(page, what) {
  const wide = await page.evaluate(() => [...document.querySelectorAll('body *')]
    .filter((element) => element.getClientRects().length && !element.closest('.unseen, .skip, svg, thead, .wide'))
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5)
    .map((element) => element.outerHTML.slice(0, 120)));
  assert.deepEqual(wide, [], `nothing sticks out: ${what}`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `no scrolling sideways: ${what}`);
}

async function accessible(page, what) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const texts = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`);
  assert.deepEqual(texts, [], what);
}

async function has(page) {
  assert.ok(readFileSync(options.report).length <= 1_000_000, 'at most 1 MB');
  for (const [selector, least] of Object.entries(options.least)) {
    const count = await page.locator(selector).count();
    assert.ok(count >= least, `${count} of ${selector}`);
  }
  const text = await page.evaluate(() => document.body.textContent);
  for (const expected of options.texts) assert.ok(text.includes(expected), `no ${expected}`);
  for (const secret of options.secrets) assert.ok(!(await page.content()).includes(secret), `${secret} is in the page`);
  assert.equal(await page.evaluate(() => document.querySelectorAll('script, iframe, img, object, embed, form, [onload], [onerror], [style]').length), 0);
  // Every bar has a height, and every chart a name.
  const flat = await page.evaluate(() => [...document.querySelectorAll('.bar')].filter((bar) => bar.getBBox().height === 0).length);
  assert.equal(flat, 0, 'bars without a height');
  const nameless = await page.evaluate(() => [...document.querySelectorAll('svg[role=img]')].filter((svg) => !svg.getAttribute('aria-label')).length);
  assert.equal(nameless, 0, 'charts without a name');
}

async function run() {
  // Root has no sandbox to put a browser into.
  const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: options.chromium, args });
  try {
    const grounds = [];
    for (const scheme of ['light', 'dark']) {
      await play(browser, scheme, async (page) => {
        await has(page);
        grounds.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          await fits(page, `${width}, ${scheme}`);
          await accessible(page, `${width}, ${scheme}`);
          if (options.images && width === 1280) {
            const file = path.join(options.images, `${options.name}-${scheme}.png`);
            await page.screenshot({ path: file, clip: { x: 0, y: 0, width, height: options.height }, fullPage: true });
          }
        }
      });
    }
    assert.notEqual(grounds[0], grounds[1], 'light and dark differ');
  } finally {
    await browser.close();
  }
}

run().then(() => console.log('all of it holds'), (error) => {
  console.error(error);
  process.exitCode = 1;
});
