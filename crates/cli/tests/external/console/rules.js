// The policy in force, what rules count, and what a reload changed or why it failed.
'use strict';

const fs = require('node:fs');
const { assert, check, options, play, until, shows, run } = require('./browser.js');

async function readAgain(page) {
  await page.getByRole('button', { name: 'Reload file' }).click();
  await page.getByRole('button', { name: 'Reload', exact: true }).click();
}

run(() => play(async (page) => {
  for (let times = 0; times < 7; times += 1) await check({ method: 'POST', path: '/login', ip: '203.0.113.7' });
  // Whoever brings no key shares one with all who do not: that is seen beside the rule.
  const without = page.locator('#lines tbody tr', { hasText: 'login' }).locator('td').nth(8);
  await shows(without, '0');
  for (let times = 0; times < 3; times += 1) await check({ method: 'POST', path: '/login' });
  await shows(without, '3 without ip');
  await page.getByRole('link', { name: 'Rules' }).click();
  const card = (rule) => page.locator(`.rule[data-rule="${rule}"]`);
  await shows(card('login').locator('.badge'), 'enforced');
  await shows(card('export').locator('.badge'), 'partly enforced');
  await shows(card('everyone').locator('.badge'), 'observed');
  const numbers = (rule) => card(rule).locator('tbody tr').first().locator('td').allInnerTexts();
  await until(() => numbers('login'), (cells) => cells.slice(4).join() === '8,2,0,1', 'login counts');
  // An admitted request is counted by a rule that looks on, whatever it would have said: four fit, one would not have.
  await until(() => numbers('everyone'), (cells) => cells[5] === '0' && Number(cells[6]) >= 1, 'what would have been denied');
  await shows(page.locator('#changed'), 'None since startup.');

  await page.getByLabel('Filter by name, path or key').fill('api_key');
  assert.equal(await page.locator('.rule:visible').count(), 1);
  await page.getByLabel('Filter by name, path or key').fill('');

  const text = fs.readFileSync(options.policy, 'utf8');
  fs.writeFileSync(options.policy, text.replace('limits: [5/min]', 'limits: [50/min]'));
  await readAgain(page);
  await shows(page.locator('#changed'), /rule login: limits 5\/min -> 50\/min/);
  await shows(card('login').locator('tbody td'), '50/min');

  // A file that is not right changes nothing, and the page says what is wrong with it.
  fs.writeFileSync(options.policy, text.replace('limits: [5/min]', 'limitz: [5/min]'));
  await readAgain(page);
  await shows(page.locator('#confirm-problem'), /limitz/);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await shows(page.locator('#policy'), /failed[\s\S]*limitz/);
  await shows(card('login').locator('tbody td'), '50/min');
  await page.getByRole('link', { name: 'Live' }).click();
  await shows(page.locator('#store'), /failed/);
}, { expected: [/422 \(Unprocessable Entity\)/] }));
