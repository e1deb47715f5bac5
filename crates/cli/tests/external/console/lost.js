// A connection that is lost is told of, and found again without anybody's help.
'use strict';

const net = require('node:net');
const { assert, ask, options, play, shows, until, run } = require('./browser.js');

/** A way to the server that can be cut. */
async function detour() {
  const { hostname, port } = new URL(options.console);
  const open = new Set();
  let isCut = false;
  const server = net.createServer((near) => {
    if (isCut) return near.destroy();
    const far = net.connect(port, hostname);
    for (const [end, other] of [[near, far], [far, near]]) {
      open.add(end);
      end.on('error', () => other.destroy()).on('close', () => { open.delete(end); other.destroy(); });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const cut = () => { isCut = true; open.forEach((end) => end.destroy()); };
  const mend = () => { isCut = false; };
  return { address: `http://127.0.0.1:${server.address().port}`, cut, mend, close: () => { cut(); server.close(); } };
}

run(async () => {
  const way = await detour();
  await ask(`${options.console}/v1/overrides`, { rule: 'login', when: { ip: '203.0.113.8' }, limits: ['9/min'], expires_in: '1h', reason: 'moving' });
  try {
    await play(async (page) => {
      await shows(page.locator('#state'), 'Live');
      await shows(page.locator('#denied tbody'), /203\.0\.113\.66/);
      way.cut();
      await shows(page.locator('#state'), 'Connection lost');
      await shows(page.locator('#trouble'), /^Connection lost\. Retrying\. Showing data from \d\d:\d\d:\d\d\.$/);
      // What is to be done meanwhile fails in words.
      await page.goto(`${way.address}/#overrides`);
      await shows(page.locator('#overrides-note'), 'Cannot reach the server.');
      await shows(page.locator('#overrides tbody'), 'Cannot load the overrides.');
      way.mend();
      await shows(page.locator('#state'), 'Live');
      await shows(page.locator('#overrides tbody'), /203\.0\.113\.8[\s\S]*moving/);
      assert.equal(await page.locator('#overrides-note').innerText(), '');
      assert.equal(await page.locator('#trouble').isVisible(), false);
      await page.getByRole('link', { name: 'Live' }).click();
      // The server kept the seconds that this page missed.
      await until(() => page.locator('#chart-decisions .area.allowed').getAttribute('d'), (d) => d?.split('M').length === 2, 'no hole');
    }, { address: way.address, expected: [/ERR_/] });
  } finally {
    way.close();
  }
});
