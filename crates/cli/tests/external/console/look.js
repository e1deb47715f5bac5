// A subject: numbers equal to those of a check, moments exact to the millisecond, and a reset.
'use strict';

const { assert, check, play, until, shows, run } = require('./browser.js');

const LOGIN = { method: 'POST', path: '/login', ip: '203.0.113.7' };
const EXPORT = { path: '/export/csv', org: 'acme', api_key: 'k 1&x=ü' };

async function lookUp(page, rule, attributes) {
  await page.getByRole('link', { name: 'Look up' }).click();
  await until(() => page.locator('#look-rule option').count(), (count) => count > 1, 'rules');
  await page.locator('#look-rule').selectOption(rule);
  const names = page.locator('#look-attributes').getByLabel('Attribute', { exact: true });
  while (await names.count() < Object.keys(attributes).length) await page.getByRole('button', { name: 'Add attribute' }).click();
  for (const [index, [name, value]] of Object.entries(attributes).entries()) {
    await names.nth(index).fill(name);
    await page.locator('#look-attributes').getByLabel('Value', { exact: true }).nth(index).fill(value);
  }
  await page.getByRole('button', { name: 'Look up' }).click();
}

/** What a row shows, as numbers; moments are as the clock of the server has them. */
async function rowNumbers(row) {
  const moment = async (name) => {
    const time = row.locator(`${name} time`);
    return await time.count() ? Date.parse(await time.getAttribute('datetime')) : null;
  };
  const [used, quota] = (await row.locator('.used').innerText()).split(' of ').map(Number);
  return { used, quota, remaining: Number(await row.locator('.left').innerText()), frees: await moment('.frees'), fresh: await moment('.fresh') };
}

/** The same from the answer to a check. */
function answerNumbers(answer, limit) {
  const { quota, remaining, retry_after_ms: retry, reset_after_ms: reset } = answer.limits.find((one) => one.policy === limit || one.limit === limit);
  return { used: quota - remaining, quota, remaining, frees: retry == null ? null : answer.decided_at_ms + retry, fresh: reset ? answer.decided_at_ms + reset : null };
}

async function equal(page, attributes, cost, limits) {
  for (const limit of limits) {
    const row = page.locator(`.subject tr[data-limit="${limit}"]`);
    // Both are asked until no second lies between them in which a number changed.
    await until(async () => [answerNumbers(await check(attributes, cost), limit), await rowNumbers(row)], ([answer, page_]) => {
      try {
        assert.deepEqual(page_, answer);
        return true;
      } catch {
        return false;
      }
    }, `${limit} as a check tells it`);
  }
}

run(() => play(async (page) => {
  for (let times = 0; times < 3; times += 1) assert.equal((await check(LOGIN)).status, 200);
  await lookUp(page, 'login', { ip: LOGIN.ip });
  await shows(page.locator('.subject .used'), '3 of 5');
  await equal(page, LOGIN, 0, ['login-5/min']);

  // Full: when the next unit is free is told as a refusal tells it.
  await check(LOGIN);
  await check(LOGIN);
  await shows(page.locator('.subject .used'), '5 of 5');
  assert.equal((await check(LOGIN)).status, 429);
  await equal(page, LOGIN, 1, ['login-5/min']);
  const left = () => page.locator('.subject .frees').innerText();
  const first = await left();
  await until(left, (now) => now !== first, 'it counts down');

  // Several windows of several kinds, by a key that has to be escaped.
  for (let times = 0; times < 2; times += 1) assert.equal((await check(EXPORT)).status, 200);
  await lookUp(page, 'export', { org: EXPORT.org, api_key: EXPORT.api_key });
  await shows(page.locator('.subject .used'), '2 of 3');
  assert.equal(await page.locator('.subject tbody tr').count(), 3);
  const { limits } = await check(EXPORT, 0);
  assert.equal(limits.length, 3);
  await equal(page, EXPORT, 0, limits.map(({ policy }) => policy));

  // From the top list, with a click; then a fresh start.
  await page.getByRole('link', { name: 'Live' }).click();
  await page.locator('#denied').getByRole('link', { name: '203.0.113.7' }).first().click();
  await shows(page.locator('.subject .used'), '5 of 5');
  await page.getByRole('button', { name: /^Reset login/ }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await check(LOGIN)).status, 429, 'asked first, and not done');
  await page.getByRole('button', { name: /^Reset login/ }).click();
  await page.getByRole('button', { name: 'Reset', exact: true }).click();
  await shows(page.locator('#notice-text'), /^Reset login ip=203\.0\.113\.7: 5\/min\.$/);
  await shows(page.locator('.subject .used'), '0 of 5');
  assert.equal((await check(LOGIN)).status, 200, 'unblocked');
  await shows(page.locator('.subject .used'), '1 of 5');

  // Also answers that take longer than a frame are shown.
  await page.route('**/v1/keys/look', async (route) => {
    await new Promise((resolve) => { setTimeout(resolve, 1_500); });
    await route.continue();
  });
  await lookUp(page, 'login', { ip: '203.0.113.99' });
  await shows(page.locator('.subject .used'), '0 of 5');
  await page.unrouteAll({ behavior: 'ignoreErrors' });

  // What does not fit is told in words.
  await lookUp(page, 'login', { ip: 'nonsense' });
  await shows(page.locator('#look-message'), /Invalid IP address/);
  assert.equal(await page.locator('.subject').count(), 0);
}, { expected: [/400 \(Bad Request\)/] }));
