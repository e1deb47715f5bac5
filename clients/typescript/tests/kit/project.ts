/** A fresh project that has only the packed package. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { setting } from './program.ts';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/** Project in a temporary folder. */
export class Project {
  readonly folder: string;
  /** Paths of the files in the package. */
  readonly files: readonly string[];

  private constructor(folder: string, files: readonly string[]) {
    this.folder = folder;
    this.files = files;
  }

  /** Packs the package and installs it. */
  static async create(): Promise<Project> {
    const folder = await mkdtemp(join(tmpdir(), 'slidegate-client-'));
    const packed = await npm(PACKAGE, 'pack', '--json', '--pack-destination', folder);
    // What the scripts of the package print comes before.
    const [{ filename, files }] = JSON.parse(packed.slice(packed.indexOf('[\n')));
    const project = new Project(folder, files.map(({ path }: { path: string }) => path));
    await project.write('package.json', '{ "type": "module" }');
    await npm(folder, 'install', '--offline', '--no-audit', '--no-fund', `./${filename}`);
    await cp(fileURLToPath(new URL('probe.js', import.meta.url)), join(folder, 'probe.js'));
    return project;
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
  }

  /** Makes a development dependency of the package one of the project. */
  async link(name: string): Promise<void> {
    const target = join(this.folder, 'node_modules', name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(PACKAGE, 'node_modules', name), target);
  }

  /** Runs Node in the folder, and returns what it prints. */
  async node(...args: string[]): Promise<string> {
    const { stdout } = await run(process.execPath, args, { cwd: this.folder });
    return stdout;
  }

  /** Errors of the compiler in a file, with these options. */
  async typeErrors(file: string, options: { lib: string[]; types: string[] }): Promise<string> {
    const compilerOptions = { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', ...options };
    await this.write('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }));
    const compiler = join(PACKAGE, 'node_modules/typescript/bin/tsc');
    return this.node(compiler).catch(({ stdout }: { stdout: string }) => stdout);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}

async function npm(folder: string, ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [setting('npm_execpath'), ...args], { cwd: folder });
  return stdout;
}
