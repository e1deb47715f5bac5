// Pictures for the documentation, light and dark, of a demo that has run for a while.
'use strict';

const path = require('node:path');
const { options, play, shows, run } = require('./browser.js');

const take = (page, name) => page.screenshot({ path: path.join(options.images, `${name}.png`) });

run(async () => {
  for (const colorScheme of ['light', 'dark']) {
    await play(async (page) => {
      // A chart is full after two minutes: there is a point of it above and one below for every second.
      await page.waitForFunction(() => document.querySelector('#chart-decisions .area.allowed')?.getAttribute('d').split('L').length > 230, null, { timeout: 240_000 });
      await take(page, `console-${colorScheme}`);
      await page.locator('#denied a').first().click();
      await shows(page.locator('.subject .used'), /of/);
      await take(page, `console-subject-${colorScheme}`);
    }, { context: { colorScheme, viewport: { width: 1280, height: 860 } } });
  }
});
