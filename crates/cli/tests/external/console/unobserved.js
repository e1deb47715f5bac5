// A server that counts nothing says so; everything else works.
'use strict';

const { check, play, shows, run } = require('./browser.js');

run(() => play(async (page) => {
  await check({ method: 'POST', path: '/login', ip: '203.0.113.7' });
  await shows(page.locator('#state'), 'Live');
  await shows(page.locator('#quiet'), 'Telemetry is off: observe.enabled is false in the policy file.');
  await page.goto(`${new URL(page.url()).origin}/#look?rule=login&a.ip=203.0.113.7`);
  await shows(page.locator('.subject .used'), '1 of 5');
  await page.getByRole('link', { name: 'Rules' }).click();
  await shows(page.locator('.rule h2'), 'login');
}));
