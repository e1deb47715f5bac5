/** The client of examples/node-client, and the API of examples/axum-tiers, as the README runs them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { setting, startProgram } from './kit/program.ts';
import { Project } from './kit/project.ts';

const EXAMPLES = new URL('../../../examples/', import.meta.url);
/** A machine that stalls for a second between two requests changes the number of attempts. */
const MAX_RUNS = 5;

function read(path: string): string {
  return readFileSync(new URL(path, EXAMPLES), 'utf8');
}

test('the README of the example is true', async (context) => {
  const blocks = [...read('node-client/README.md').matchAll(/```console\n\$ node (.*)\n([^`]*)```/g)];
  assert.equal(blocks.length, 2);
  const project = await Project.create();
  context.after(() => project.remove());
  await project.write('client.js', read('node-client/client.js'));
  const cwd = fileURLToPath(new URL('axum-tiers', EXAMPLES));
  const env = { ...process.env, LISTEN: '127.0.0.1:0', POLICY: 'policy.yaml' };
  let printed: string[] = [];
  const expected = blocks.map(([, , output]) => output);
  for (let run = 0; run < MAX_RUNS; run += 1) {
    const address = await startProgram(context, setting('SLIDEGATE_EXAMPLE_API'), [], { cwd, env });
    printed = [];
    for (const [, command = ''] of blocks) {
      const args = command.replace('http://127.0.0.1:3000', address).split(' ');
      printed.push(await project.node(...args));
    }
    if (printed.join() === expected.join()) return;
  }
  assert.deepEqual(printed, expected);
});
