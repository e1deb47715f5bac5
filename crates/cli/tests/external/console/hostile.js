// Names that are meant to do harm stay text, in lists and in a look-up, and lead to the subject that they are.
'use strict';

const { assert, check, play, shows, until, run } = require('./browser.js');

const NAMES = [
  '<img src=x onerror="window.hit=1">',
  '<script>window.hit=1</script>',
  '"><svg onload=window.hit=1>',
  "javascript:window.hit=1//'",
  '{{constructor.constructor("window.hit=1")()}}',
  '__proto__',
  '&lt;b&gt; &amp; a=b&c=d#e?f%20+g',
  '\u202Egnp.exe\u202C \u200Fmirror',
  'x'.repeat(250),
  ' ',
];

run(() => play(async (page) => {
  for (const user of NAMES) {
    await check({ path: '/users', user });
    assert.equal((await check({ path: '/users', user })).status, 429, user);
  }
  const links = page.locator('#denied tbody a');
  await until(() => links.count(), (count) => count === NAMES.length, 'all are listed');
  const texts = (await links.evaluateAll((all) => all.map((link) => link.textContent))).sort();
  assert.deepEqual(texts, NAMES.map((name) => `user=${name}`).sort());
  for (const name of NAMES) {
    await page.getByRole('link', { name: 'Live' }).click();
    await links.evaluateAll((all, text) => all.find((link) => link.textContent === text).click(), `user=${name}`);
    await shows(page.locator('.subject .used'), '1 of 1');
    assert.equal(await page.locator('.subject .key').evaluate((key) => key.textContent), `user=${name}`);
  }
  const harm = await page.evaluate(() => ({ hit: window.hit, images: document.images.length, scripts: document.scripts.length, wide: document.documentElement.scrollWidth > innerWidth }));
  assert.deepEqual(harm, { hit: undefined, images: 0, scripts: 1, wide: false });
  // The browser itself refuses what would make markup of a text.
  const refused = await page.evaluate(() => {
    try {
      document.body.innerHTML = '<b>markup</b>';
      return false;
    } catch {
      return true;
    }
  });
  assert.ok(refused);
}, { expected: [/TrustedHTML/] }));
