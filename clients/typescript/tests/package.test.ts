/** The packed package in a fresh project: types, Node, Chromium, and the examples of the pages. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';

import { setting, startSlidegate } from './kit/program.ts';
import { Project } from './kit/project.ts';
import { startServer, type Received } from './kit/server.ts';

/** Wednesday, 18 November 2026, 15:00:00. */
const NOW_MS = 1_795_014_000_000;

/** Headers of a refusal by the name of their style, and the wait that follows without jitter. */
const STYLES: Record<string, [headers: Record<string, string | string[]>, waitMs: number]> = {
  none: [{}, 0],
  seconds: [{ 'retry-after': '3' }, 3_000],
  date: [{ 'retry-after': 'Wed, 18 Nov 2026 15:00:30 GMT' }, 30_000],
  draft: [{ ratelimit: '"burst";r=0;t=4, "day";r=9;t=50', 'ratelimit-policy': '"burst";q=5;w=4' }, 4_000],
  repeated: [{ ratelimit: ['"burst";r=0;t=4', '"day";r=0;t=20'] }, 20_000],
  legacy: [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '12' }, 12_000],
  'x-ratelimit': [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' }, 7_000],
  epoch: [{ 'x-ratelimit-reset': '1795014009' }, 9_000],
  zero: [{ 'retry-after': '0' }, 0],
};

const EXPECTED = Object.fromEntries(Object.entries(STYLES).map(([style, [, waitMs]]) => (
  [style, { status: 200, body: 'got text', waits: [waitMs], stop: 'not_refused' }]
)));

let project: Project;
before(async () => { project = await Project.create(); });
after(() => project.remove());

/** Starts a server that refuses every other request in the style that the path names. */
function startApi(context: TestContext, page: (received: Received, response: ServerResponse) => void) {
  const refused = new Set<string>();
  return startServer(context, (received, response) => {
    const { path, body } = received;
    const [headers] = STYLES[path.replace('/api/', '')] ?? [];
    if (path === '/slidegate/v1/check') {
      response.writeHead(200).end(`{"allowed":true,"key":"${JSON.parse(body).idempotency_key}"}`);
    } else if (headers === undefined) {
      page(received, response);
    } else if (refused.delete(path)) {
      response.end(`got ${body}`);
    } else {
      refused.add(path);
      response.writeHead(429, headers).end('refused');
    }
  });
}

function checkPlatform({ status, answer }: { status: number; answer: { allowed: boolean; key: string } }) {
  assert.deepEqual([status, answer.allowed], [200, true]);
  assert.match(answer.key, /^[0-9a-f]{32}$/);
}

test('the package has the modules, their types, a README and licences, and needs no other', () => {
  const modules = project.files.filter((path) => /^dist\/.*\.(?:js|d\.ts)$/.test(path));
  const others = project.files.filter((path) => !modules.includes(path));
  assert.deepEqual(others.sort(), ['LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'package.json']);
  assert.ok(modules.includes('dist/index.js') && modules.includes('dist/index.d.ts'));
  const path = join(project.folder, 'node_modules/slidegate-client/package.json');
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(path, 'utf8'));
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined]);
});

test('its types are complete, with those of browsers and with those of Node', async () => {
  await project.write('types.ts', `
    import { CheckClient, withRetry, type CheckAnswer } from 'slidegate-client';
    export const retrying: typeof fetch = withRetry(fetch, { pause: true });
    export function show(answer: CheckAnswer): string {
      if (answer.allowed) return answer.permit ?? String(answer.remaining);
      return 'rule' in answer ? answer.rule : String(answer.retry_after_ms);
    }
    // @ts-expect-error: the client makes its own key
    void new CheckClient('http://127.0.0.1:8080').check({ attributes: {}, idempotency_key: 'a' });
  `);
  await project.link('@types/node');
  await project.link('undici-types');
  const browser = { lib: ['es2022', 'dom', 'dom.iterable'], types: [] };
  const node = { lib: ['es2022'], types: ['node'] };
  for (const options of [browser, node]) assert.equal(await project.typeErrors('types.ts', options), '');
});

test('Node: it waits as every style of headers demands', async (context) => {
  const { address } = await startApi(context, (_, response) => response.writeHead(404).end());
  const args = JSON.stringify([address, Object.keys(STYLES), NOW_MS]);
  await project.write('main.js', `
    import { probe, probePlatform } from './probe.js';
    console.log(JSON.stringify([await probe(...${args}), await probePlatform('${address}')]));
  `);
  const [outcomes, platform] = JSON.parse(await project.node('main.js'));
  assert.deepEqual(outcomes, EXPECTED);
  checkPlatform(platform);
});

const ENTRY = '/node_modules/slidegate-client/dist/index.js';
const PAGE = `<!doctype html><link rel="icon" href="data:,">
<script type="importmap">{"imports": {"slidegate-client": "${ENTRY}"}}</script>
<script type="module">import * as probes from '/probe.js'; globalThis.probes = probes;</script>`;

test('Chromium: it waits as every style of headers demands', async (context) => {
  const { address } = await startApi(context, ({ path }, response) => {
    const isPage = path === '/';
    response.setHeader('content-type', isPage ? 'text/html' : 'text/javascript');
    response.end(isPage ? PAGE : readFileSync(join(project.folder, path)));
  });
  const require = createRequire(join(setting('SLIDEGATE_PLAYWRIGHT'), 'node_modules/'));
  const { chromium } = require('playwright-core');
  // Root has no sandbox to put a browser into.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: setting('SLIDEGATE_CHROMIUM'), args });
  context.after(() => browser.close());
  const page = await browser.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error: Error) => errors.push(String(error)));
  await page.goto(address);
  await page.waitForFunction('globalThis.probes');
  const probeArgs = JSON.stringify(['', Object.keys(STYLES), NOW_MS]);
  assert.deepEqual(await page.evaluate(`probes.probe(...${probeArgs})`), EXPECTED);
  checkPlatform(await page.evaluate('probes.probePlatform(location.origin)'));
  assert.deepEqual(errors, []);
});

const POLICY = `
version: 1
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [5/min] }
`;
/** Pages with examples, and the output of each example. */
const PAGES = {
  '../README.md': ['200', 'got {"name":"a"}', 'got {"name":"a"}', 'got ', 'true', '4 left'],
  '../../../docs/client.md': ['200 not_refused'],
};

test('the examples of the documentation run', async (context) => {
  const slidegate = await startSlidegate(context, POLICY);
  const pages = Object.keys(PAGES).map((page) => readFileSync(new URL(page, import.meta.url), 'utf8'));
  const examples = [...pages.join().matchAll(/```js\n(.*?)```/gs)].map(([, code = '']) => code);
  for (const name of ['axios', 'ky', 'p-retry']) await project.link(name);
  // The server demands no delay, and without jitter there is no wait.
  await project.write('no-jitter.js', 'Math.random = () => 0;');
  const outputs = [];
  for (const [index, example] of examples.entries()) {
    const { address } = await startApi(context, (_, response) => response.writeHead(404).end());
    const code = example.replaceAll('https://api.example.com/items', `${address}/api/zero`);
    const file = `example-${index}.js`;
    await project.write(file, code.replaceAll('http://127.0.0.1:8080', slidegate));
    outputs.push((await project.node('--import', './no-jitter.js', file)).replace(/\n$/, ''));
  }
  assert.deepEqual(outputs, Object.values(PAGES).flat());
});
