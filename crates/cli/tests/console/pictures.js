// Pictures for the documentation, light and dark, of a demo that has run for a while.
'use strict';

const path = require('node:path');
const { options, play, shows, until, run } = require('./browser.js');

const take = (page, name) => page.screenshot({ path: path.join(options.images, `${name}.png`) });

run(async () => {
  for (const colorScheme of ['light', 'dark']) {
    await play(async (page) => {
      const drawn = () => page.locator('#chart-decisions .area.allowed').getAttribute('d');
      await until(async () => (await drawn())?.split('L').length ?? 0, (points) => points > 45, 'a chart');
      await take(page, `console-${colorScheme}`);
      await page.locator('#denied a').first().click();
      await shows(page.locator('.subject .used'), /of/);
      await take(page, `console-subject-${colorScheme}`);
    }, { context: { colorScheme, viewport: { width: 1280, height: 860 } } });
  }
});
