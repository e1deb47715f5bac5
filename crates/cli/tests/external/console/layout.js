// Every view at every width, light and dark, empty and full: nothing sticks out, and axe finds nothing.
'use strict';

const axe = require('axe-core');
const { assert, ask, check, options, play, shows, until, run } = require('./browser.js');

const WIDTHS = [320, 768, 1440];
const VIEWS = { '#live': '#state', '#rules': '.rule h2', '#look?rule=&a.ip=203.0.113.7': '.subject .used', '#overrides': '#overrides td' };
const LONG = 'an-organisation-whose-name-nobody-would-choose-but-somebody-has-and-without-a-place-to-break'.repeat(2);

/** Rules of WCAG 2.2, levels A and AA, and what else is known to help. */
async function judged(page) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`);
}

async function fits(page, what) {
  const wide = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((element) => element.getClientRects().length
    && !element.closest('.unseen, .skip, svg, .scroll') && getComputedStyle(element).clipPath === 'none' && !element.closest('thead')
    && (element.getBoundingClientRect().right > innerWidth + 0.5 || element.getBoundingClientRect().left < -0.5)).map((element) => element.outerHTML.slice(0, 120)));
  assert.deepEqual(wide, [], `nothing sticks out: ${what}`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `no scrolling sideways: ${what}`);
}

async function everyView(page, theme, isFull) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const [view, ready] of Object.entries(VIEWS)) {
      await page.goto(`${options.console}/${view}`);
      await shows(page.locator(ready), /./);
      if (isFull && view === '#live') await shows(page.locator('#denied tbody'), /an-organisation/);
      await fits(page, `${view} at ${width}, ${theme}`);
      // What is judged does not depend on the width, but for the widest and the narrowest layout.
      if (width !== 768) assert.deepEqual(await judged(page), [], `${view} at ${width}, ${theme}`);
    }
  }
}

async function dialogs(page, theme) {
  for (const width of [320, 1440]) {
    await page.setViewportSize({ width, height: 700 });
    await page.goto(`${options.console}/#look?rule=login&a.ip=203.0.113.7`);
    for (const name of [/^Reset/, /^Override for/]) {
      await page.getByRole('button', { name }).first().click();
      await until(() => page.getByRole('dialog').isVisible(), Boolean, 'a dialog');
      await fits(page, `${name} at ${width}, ${theme}`);
      assert.deepEqual(await judged(page), [], `${name} at ${width}, ${theme}`);
      await page.keyboard.press('Escape');
    }
  }
}

async function fill() {
  for (let times = 0; times < 7; times += 1) {
    await check({ method: 'POST', path: '/login', ip: '203.0.113.7' });
    await check({ path: '/export/csv', org: LONG, api_key: LONG });
    await check({ path: '/users', user: LONG });
  }
  await ask(`${options.console}/v1/overrides`, { rule: 'users', when: { user: LONG }, deny: true, expires_in: '1day', reason: LONG });
}

run(async () => {
  await play((page) => everyView(page, 'light', false), { context: { reducedMotion: 'reduce' } });
  await fill();
  for (const colorScheme of ['light', 'dark']) {
    await play(async (page) => {
      await everyView(page, colorScheme, true);
      await dialogs(page, colorScheme);
    }, { context: { colorScheme, reducedMotion: 'reduce' } });
  }
});
