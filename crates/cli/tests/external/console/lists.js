// Top lists: everybody has a row, whoever can be looked up has a link, and rows stay for whoever is among them.
'use strict';

const fs = require('node:fs');
const { assert, ask, check, options, play, until, run } = require('./browser.js');

const LOGIN = { method: 'POST', path: '/login', ip: '203.0.113.7' };
/** They differ where nobody looks any more. */
const LONG = ['a', 'b'].map((end) => 'x'.repeat(600) + end);

/** A limit that comes along in a descriptor. */
function describe(address) {
  const entries = [{ key: 'remote_address', value: address }, { key: 'path', value: '/api' }];
  return ask(`${options.http}/json`, { domain: 'edge', descriptors: [{ entries, limit: { requests_per_unit: 1, unit: 'DAY' } }] });
}

/** What a row says of whom, and where that leads. */
function subjects(page) {
  return page.locator('#denied tbody .key').evaluateAll((all) => all.map((key) => [key.textContent, key.getAttribute('href') != null]).sort());
}

async function everybodyHasARow(page) {
  await check(LOGIN, 6);
  for (const address of ['203.0.113.8', '203.0.113.9', '203.0.113.8', '203.0.113.9']) await describe(address);
  for (const user of [...LONG, ...LONG]) await check({ path: '/users', user });
  const cut = `user=${'x'.repeat(253)}…`;
  const of = (address) => `key1=edgekey2=remote_addresskey3=${address}key4=pathkey5=/api`;
  const expected = [['ip=203.0.113.7', true], [of('203.0.113.8'), false], [of('203.0.113.9'), false], [cut, false], [cut, false]];
  await until(() => subjects(page), (now) => JSON.stringify(now) === JSON.stringify(expected), 'everybody is listed');
  const rows = page.locator('#denied tbody tr');
  await rows.evaluateAll((all) => all.forEach((row) => { row.isOld = true; }));
  const about = () => page.locator('#about').innerText();
  const before = await about();
  await until(about, (now) => now !== before, 'another frame');
  assert.ok(await rows.evaluateAll((all) => all.every((row) => row.isOld)), 'the same rows');
}

/** Ten others who are refused more often than everybody before. */
async function othersCome(round) {
  for (let number = 0; number < 10; number += 1) {
    for (let times = 0; times < round + 3; times += 1) await check({ path: '/users', user: `user-${round}-${number}` });
  }
}

async function rowsStay(page) {
  const rows = page.locator('#denied tbody tr');
  await page.locator('#denied tbody a').focus();
  await page.locator('#denied tbody tr:not(:has(a))').nth(1).hover();
  const where = () => page.locator('#denied tbody tr:is(:hover, :focus-within)').evaluateAll((rows) => rows.map((row) => [row.textContent, row.offsetTop]));
  const before = await where();
  assert.equal(before.length, 2);
  for (let round = 0; round < 6; round += 1) {
    await othersCome(round);
    await until(() => page.locator('#denied tbody').innerText(), (text) => [...Array(10).keys()].every((number) => text.includes(`user-${round}-${number}`)), 'the others are listed');
    const count = await rows.count();
    assert.ok(count <= 20, `${count} rows`);
    assert.deepEqual(await where(), before);
  }
}

/** A reload that hides subjects takes the links away. */
async function hashesLeadNowhere(page) {
  await page.mouse.move(0, 0);
  await page.locator('#live-title').focus();
  assert.ok(await page.locator('#denied tbody a').count() > 0);
  const text = fs.readFileSync(options.policy, 'utf8');
  fs.writeFileSync(options.policy, text.replace('rules:', 'observe: { subjects: hashed }\nrules:'));
  const hashes = async () => (await subjects(page)).map(([text_, isLink]) => /^user=[0-9a-f]{16}$/.test(text_) && !isLink);
  await until(hashes, (all) => all.length === 10 && all.every(Boolean), 'hashes without links');
}

run(() => play(async (page) => {
  await everybodyHasARow(page);
  await rowsStay(page);
  await hashesLeadNowhere(page);
}));
