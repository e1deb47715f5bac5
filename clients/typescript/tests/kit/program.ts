/** The real server, which `SLIDEGATE_PROGRAM` names. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

/** Value of a variable that scripts/test sets. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: scripts/test sets it (typescript_client in scripts/lib.sh)`);
}

/** Starts the server with a policy. It ends with its test. Its address. */
export async function startSlidegate(
  context: TestContext,
  policy: string,
  ...flags: string[]
): Promise<string> {
  const listen = ['--http', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--log', 'off'];
  const program = spawn(setting('SLIDEGATE_PROGRAM'), ['serve', '-', ...listen, ...flags], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  context.after(() => program.kill());
  program.stdin.end(policy);
  for await (const line of createInterface(program.stdout)) {
    const address = /^listening on (http:.*)$/.exec(line)?.[1];
    if (address !== undefined) {
      program.stdout.resume();
      return address;
    }
  }
  throw new Error('the server ended before it listened');
}
