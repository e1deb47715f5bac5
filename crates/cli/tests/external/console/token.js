// A server with a token: nothing is shown without it, and it stays in this tab.
'use strict';

const { assert, options, play, shows, run } = require('./browser.js');

const unauthorized = [/401 \(Unauthorized\)/];

async function enter(page, token) {
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Continue' }).click();
}

run(() => play(async (page, { place, requests }) => {
  await shows(page.locator('#sign-in-title'), 'Token required');
  await page.getByRole('link', { name: 'Rules' }).click();
  assert.ok(await page.getByLabel('Token', { exact: true }).isVisible(), 'nothing else is shown');
  await enter(page, 'wrong');
  await shows(page.locator('#sign-in-problem'), 'Wrong token.');
  await enter(page, options.token);
  await shows(page.locator('#state'), 'Live');
  await shows(page.locator('#rules-title'), 'Rules');
  await shows(page.locator('.rule h2'), /\w/);

  await page.reload();
  await shows(page.locator('#state'), 'Live');
  const storage = await page.evaluate(() => ({ session: { ...sessionStorage }, local: { ...localStorage }, cookie: document.cookie }));
  assert.deepEqual(storage, { session: { 'slidegate-token': options.token }, local: {}, cookie: '' });
  assert.ok(requests.every((url) => !url.includes(options.token)), 'never in an address');

  const other = await place.newPage();
  await other.goto(`${options.console}/`);
  await shows(other.locator('#sign-in-title'), 'Token required');
  await page.getByRole('button', { name: 'Forget token' }).click();
  await shows(page.locator('#sign-in-title'), 'Token required');
  await page.reload();
  await shows(page.locator('#sign-in-title'), 'Token required');
}, { expected: unauthorized }));
