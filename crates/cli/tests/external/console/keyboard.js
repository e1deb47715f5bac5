// Everything without a mouse: it can be reached in an order that makes sense, and one sees where one is.
'use strict';

const { assert, ask, check, options, play, shows, until, run } = require('./browser.js');

const LOGIN = { method: 'POST', path: '/login', ip: '203.0.113.7' };

/** What has the focus: its name, and whether that can be seen. */
function focused(page) {
  return page.evaluate(() => {
    const { activeElement: element } = document;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const name = element.getAttribute('aria-label') ?? element.labels?.[0]?.innerText ?? element.innerText ?? '';
    return { tag: element.tagName, id: element.id, name: name.trim(), isVisible: outlineStyle !== 'none' && outlineWidth !== '0px' };
  });
}

async function press(page, key, times = 1) {
  for (let time = 0; time < times; time += 1) await page.keyboard.press(key);
  return focused(page);
}

/** Presses Tab until something of that name has the focus, which is to be seen at every step. */
async function tabTo(page, name) {
  for (let step = 0; step < 60; step += 1) {
    const now = await press(page, 'Tab');
    if (now.tag !== 'BODY') assert.ok(now.isVisible, `the focus is seen on ${JSON.stringify(now)}`);
    if (name.test(now.name)) return now;
  }
  throw new Error(`Tab does not lead to ${name}`);
}

run(() => play(async (page) => {
  for (let times = 0; times < 6; times += 1) await check(LOGIN);
  await shows(page.locator('#denied tbody'), /203\.0\.113\.7/);

  // The first stop jumps over the bar.
  assert.equal((await press(page, 'Tab')).name, 'Skip to content');
  await press(page, 'Enter');
  await until(() => focused(page), (now) => now.id === 'main', 'the content has the focus');
  assert.match((await tabTo(page, /moment$/)).name, /^Decisions per second/);
  const moment = () => page.locator('#chart-decisions .plot').getAttribute('aria-valuetext');
  await press(page, 'ArrowLeft', 2);
  assert.equal(await page.locator('#chart-decisions .plot').getAttribute('aria-valuenow'), '-2');
  // A server that has just begun knows of nothing before.
  await until(moment, (text) => /^\d\d:\d\d:\d\d: Denied .*, Allowed /.test(text), 'a moment is told');

  // From a top list to the subject. Rows stay where they are while somebody is among them.
  await tabTo(page, /^ip=203\.0\.113\.7$/);
  await press(page, 'Enter');
  await shows(page.locator('.subject .used'), '5 of 5');
  const isAnnounced = () => until(() => focused(page), (now) => now.id === 'look-title', 'the title of a new view has the focus');
  await isAnnounced();

  // A question can be left; the focus returns to where it was.
  await tabTo(page, /^Reset login/);
  await press(page, 'Enter');
  assert.equal((await focused(page)).name, 'Cancel', 'what changes nothing comes first');
  await press(page, 'Escape');
  assert.match((await focused(page)).name, /^Reset login/);
  assert.equal((await check(LOGIN)).status, 429);
  await press(page, 'Enter');
  await until(() => page.getByRole('dialog').isVisible(), Boolean, 'a dialog');
  assert.equal((await press(page, 'Shift+Tab')).name, 'Reset');
  await press(page, 'Enter');
  await shows(page.locator('.subject .used'), '0 of 5');
  assert.equal((await check(LOGIN)).status, 200);

  // A look-up by hand, and an override.
  await page.evaluate(() => document.activeElement.blur());
  await page.goto(`${new URL(page.url()).origin}/#look`);
  // The view takes the focus once it is there: a Tab before that would be lost.
  await isAnnounced();
  await tabTo(page, /^Value$/);
  await page.keyboard.type('203.0.113.7');
  await press(page, 'Enter');
  await shows(page.locator('.subject .used'), '1 of 5');
  await tabTo(page, /^Override for login/);
  await press(page, 'Enter');
  await tabTo(page, /^Limits/);
  await page.keyboard.type('7/mi');
  await tabTo(page, /^Set override$/);
  await press(page, 'Enter');
  await shows(page.locator('#exception-problem'), /7\/mi/);
  await until(() => focused(page), (now) => now.name === 'Set override', 'who was refused can try again');
  await tabTo(page, /^Limits/);
  await press(page, 'End');
  await page.keyboard.type('n');
  await press(page, 'Enter');
  await shows(page.locator('.subject .used'), '1 of 7');

  // The card of before is gone, and after another while this one.
  await isAnnounced();
  await tabTo(page, /^Reset login/);
  const { overrides: [{ id }] } = await (await fetch(`${options.console}/v1/overrides`)).json();
  await fetch(`${options.console}/v1/overrides/${id}`, { method: 'DELETE' });
  await shows(page.locator('.subject .used'), '1 of 5');
  await isAnnounced();

  // So is a row that was removed, of a table or of a form.
  await tabTo(page, /^Remove this attribute$/);
  assert.equal((await press(page, 'Enter')).name, 'Add attribute');
  await ask(`${options.console}/v1/overrides`, { rule: 'login', when: { ip: LOGIN.ip }, allow: true, expires_in: '1h', reason: '' });
  await page.goto(`${options.console}/#overrides`);
  await shows(page.locator('#overrides tbody'), /not limited/);
  await tabTo(page, /^Remove the override of login/);
  await press(page, 'Enter');
  await until(() => page.getByRole('dialog').isVisible(), Boolean, 'a dialog');
  assert.equal((await press(page, 'Shift+Tab')).name, 'Remove');
  await press(page, 'Enter');
  await shows(page.locator('#overrides tbody'), /No overrides/);
  await until(() => focused(page), (now) => now.id === 'overrides-title', 'the title has the focus');
  await tabTo(page, /^Dismiss$/);
  assert.equal((await press(page, 'Enter')).id, 'overrides-title');
}, { expected: [/422 \(Unprocessable Entity\)/] }));
