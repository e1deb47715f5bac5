// The demo: everything moves, in one round of requests, and follows the colours of the system.
'use strict';

const { assert, options, play, until, shows, run } = require('./browser.js');

const number = (text) => Number(text.replaceAll(',', '').match(/[\d.]+/)?.[0]);

/** Three files of less than 100 kB make the page; it can be used before any data has come. */
async function itIsLight() {
  const sizes = [];
  await play(async (page, { place, requests }) => {
    await place.route('**/v1/**', (route) => route.abort());
    requests.length = 0;
    // Until the new page is there, the one before the reload may still call the API.
    const isApi = (url) => new URL(url).pathname.startsWith('/v1/');
    place.on('response', async (reply) => isApi(reply.url()) || sizes.push((await reply.body()).length));
    await page.reload({ waitUntil: 'domcontentloaded' });
    await page.getByRole('link', { name: 'Look up' }).click();
    await page.getByRole('button', { name: 'Add attribute' }).click();
    await until(() => page.getByLabel('Attribute', { exact: true }).count(), (count) => count >= 2, 'it can be used');
    const files = requests.filter((url) => !url.startsWith('data:') && !isApi(url)).map((url) => new URL(url).pathname);
    assert.deepEqual(files.sort(), ['/', '/console/console.js', '/console/style.css'], 'one round');
    await until(() => sizes.length, (count) => count === 3, 'three answers');
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes > 10_000 && bytes < 100_000, `${bytes} bytes`);
  }, { expected: [/ERR_FAILED/] });
}

async function itMoves() {
  await play(async (page) => {
    await shows(page.locator('#state'), 'Live');
    // The abuser is known by name, and so is the loop that does not wait.
    await shows(page.locator('#denied tbody'), /203\.0\.113\.66/);
    await shows(page.locator('#lines tbody'), /login/);
    const tile = (name) => page.locator('.tile', { hasText: name }).locator('.value');
    await until(async () => number(await tile('Decisions').innerText()), (rate) => rate > 10, 'decisions');
    await until(async () => number(await tile('Denied').first().innerText()), (rate) => rate > 1, 'denials');
    for (const path of ['#chart-decisions .area.allowed', '#chart-decisions .area.denied', '#chart-latency .curve.p99']) {
      const shape = () => page.locator(path).getAttribute('d');
      const first = await until(shape, (d) => d?.length > 20, `${path} is drawn`);
      await until(shape, (d) => d !== first, `${path} moves`);
    }
    const total = () => page.locator('#since dd').first().innerText();
    const before = number(await total());
    await until(async () => number(await total()), (now) => now > before, 'counts grow');
    // The same numbers are there as a table.
    await page.locator('#chart-decisions summary').click();
    await until(() => page.locator('#chart-decisions tbody tr').count(), (rows) => rows > 0, 'numbers');
    await itPauses(page, total);
  });
}

async function itPauses(page, total) {
  await page.getByRole('button', { name: 'Pause' }).click();
  const [paused, frames] = [await total(), await page.evaluate(() => performance.now())];
  await until(() => page.evaluate(() => performance.now()), (now) => now > frames + 2_500, 'time passes');
  assert.equal(await total(), paused, 'it holds still');
  await page.getByRole('button', { name: 'Pause' }).click();
  await until(total, (now) => now !== paused, 'it moves again');
}

/** What charts had before this page came is there at once. */
async function itRemembers() {
  await play(async (page) => {
    await shows(page.locator('#state'), 'Live');
    await until(() => page.locator('#chart-decisions .area.allowed').getAttribute('d'), (d) => d?.split('L').length > 8, 'history');
  });
}

async function coloursFollow() {
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const isDark = (colour) => colour.match(/\d+/g).map(Number).every((part) => part < 80);
  await play(async (page) => {
    assert.ok(isDark(await ground(page)), 'dark, as the system is');
    await page.emulateMedia({ colorScheme: 'light' });
    await until(() => ground(page), (colour) => !isDark(colour), 'light, as the system is now');
    await page.getByLabel('Colours').selectOption('dark');
    assert.ok(isDark(await ground(page)), 'dark, as it was chosen');
    await page.reload();
    assert.ok(isDark(await ground(page)), 'and remembered');
    await page.getByLabel('Colours').selectOption('');
    await until(() => ground(page), (colour) => !isDark(colour), 'as the system is again');
  }, { context: { colorScheme: 'dark' } });
}

run(async () => {
  assert.ok(options.console);
  await itIsLight();
  await itMoves();
  await itRemembers();
  await coloursFollow();
});
