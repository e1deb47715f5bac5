// An override for one subject: set, in force, listed, removed, and at its end.
'use strict';

const { assert, check, play, until, shows, run } = require('./browser.js');

const LOGIN = { method: 'POST', path: '/login', ip: '203.0.113.8' };
const OTHER = { method: 'POST', path: '/login', ip: '203.0.113.9' };

async function status(attributes, wanted, what) {
  await until(async () => (await check(attributes, 1)).status, (now) => now === wanted, what);
}

async function override(page, fill) {
  await page.getByRole('button', { name: /^Override for login/ }).click();
  const form = page.getByRole('dialog');
  await fill(form);
  await form.getByRole('button', { name: 'Set override' }).click();
}

run(() => play(async (page) => {
  await check(LOGIN, 5);
  assert.equal((await check(LOGIN)).status, 429);
  await page.goto(`${new URL(page.url()).origin}/#look?rule=login&a.ip=203.0.113.8`);
  await shows(page.locator('.subject .used'), '5 of 5');

  // What is wrong is told where it was typed.
  await override(page, async (form) => {
    await form.getByRole('textbox', { name: 'Limits' }).fill('many');
    await form.getByLabel('For', { exact: true }).fill('8s');
  });
  await shows(page.locator('#exception-problem'), /limit/i);
  await page.getByRole('textbox', { name: 'Limits' }).fill('8/min');
  await page.getByLabel('Reason').fill('import of the catalogue');
  await page.getByRole('button', { name: 'Set override' }).click();
  await shows(page.locator('#notice-text'), /^Set an override until .*rule login, where ip is 203\.0\.113\.8: limits 8\/min\.$/);

  // It applies, on the same history, to this subject only.
  assert.equal((await check(LOGIN)).remaining, 2);
  await shows(page.locator('.subject .used'), '6 of 8');
  await shows(page.locator('#overrides-count'), '1');
  await check(OTHER, 5);
  assert.equal((await check(OTHER)).status, 429);

  // It is listed with its reason, and leaves by itself.
  await page.getByRole('link', { name: /^Overrides/ }).click();
  await shows(page.locator('#overrides tbody tr'), /login[\s\S]*ip=203\.0\.113\.8[\s\S]*8\/min[\s\S]*import of the catalogue[\s\S]*in \d+ s/);
  await shows(page.locator('#overrides tbody'), /No overrides/);
  await status(LOGIN, 429, 'it has expired');
  await until(() => page.locator('#overrides-count').isVisible(), (isVisible) => !isVisible, 'none is counted');

  // One that refuses, and its end by hand.
  await page.goBack();
  await override(page, async (form) => {
    await form.getByLabel('Blocked').check();
    await form.getByLabel('For', { exact: true }).fill('1h');
  });
  await shows(page.locator('#notice-text'), /deny/);
  await status(LOGIN, 403, 'blocked');
  await page.getByRole('link', { name: /^Overrides/ }).click();
  await page.getByRole('button', { name: 'Remove the override of login' }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await shows(page.locator('#overrides tbody'), /No overrides/);
  await status(LOGIN, 429, 'limited as before');
}, { expected: [/422 \(Unprocessable Entity\)/] }));
