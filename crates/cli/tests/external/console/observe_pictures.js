// Pictures of a policy in observe mode under traffic, light and dark.
'use strict';

const path = require('node:path');
const { options, play, run } = require('./browser.js');

run(async () => {
  for (const colorScheme of ['light', 'dark']) {
    await play(async (page) => {
      // A chart is full after two minutes: there is a point of it above and one below for every second.
      await page.waitForFunction(() => document.querySelector('#chart-decisions .area.allowed')?.getAttribute('d').split('L').length > 230, null, { timeout: 240_000 });
      await page.screenshot({ path: path.join(options.images, `console-observe-${colorScheme}.png`) });
    }, { context: { colorScheme, viewport: { width: 1280, height: 1000 } } });
  }
});
