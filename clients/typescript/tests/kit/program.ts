/** Real programs: the server, which `SLIDEGATE_PROGRAM` names, and others that print their address. */
import { spawn, type SpawnOptions } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

/** Value of a variable that scripts/test sets. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`${name} is not set: scripts/test sets it (typescript_client in scripts/lib.sh)`);
}

/** Starts the server with a policy. It ends with its test. Its address. */
export function startSlidegate(context: TestContext, policy: string, ...flags: string[]): Promise<string> {
  const listen = ['--http', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--log', 'off'];
  const args = ['serve', '-', ...listen, ...flags];
  return startProgram(context, setting('SLIDEGATE_PROGRAM'), args, {}, policy);
}

/** Starts a program that prints its address. It ends with its test. */
export async function startProgram(
  context: TestContext,
  path: string,
  args: readonly string[],
  options: SpawnOptions,
  input = '',
): Promise<string> {
  const program = spawn(path, args, { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
  context.after(() => program.kill());
  program.stdin.end(input);
  for await (const line of createInterface(program.stdout)) {
    const address = /^listening on (http:.*)$/.exec(line)?.[1];
    if (address !== undefined) {
      program.stdout.resume();
      return address;
    }
  }
  throw new Error('the program ended before it listened');
}
