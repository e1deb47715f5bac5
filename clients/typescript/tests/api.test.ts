import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('the types of the API are those of openapi.json', () => {
  const tool = fileURLToPath(new URL('../tools/api.js', import.meta.url));
  const expected = execFileSync(process.execPath, [tool, '--print'], { encoding: 'utf8' });
  const found = readFileSync(new URL('../src/api.ts', import.meta.url), 'utf8');
  assert.equal(found, expected, 'src/api.ts is not current: run `npm run api` in clients/typescript');
});
