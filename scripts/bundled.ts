/**
 * Lists the packages that a bundler built into its output. A release needs the list for their
 * licences and for its bill of materials.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A package in the `node_modules` that svc is built from. */
export type Bundled = {
  readonly name: string;
  readonly version: string;
  /** The SPDX expression of its package.json. */
  readonly license: string;
  /** Relative to the root of the project. */
  readonly folder: string;
};

/** The name of the list, in the output folder of the build. */
export const bundledList = 'bundled.json';

/** Collects the packages that a build includes, over all its bundles. */
export class Intake {
  readonly #root: string;
  readonly #folders = new Set<string>();

  /** @param root of the project, absolute */
  constructor(root: string) {
    this.#root = root;
  }

  /** A plugin of Rolldown and of Vite that sees every module of the output. */
  readonly plugin = {
    name: 'bundled',
    generateBundle: (_: unknown, bundle: Readonly<Record<string, object>>): void => {
      for (const file of Object.values(bundle)) {
        const ids = 'moduleIds' in file ? (file.moduleIds as readonly string[]) : [];
        for (const id of ids) this.#take(id);
      }
    },
  };

  /** Adds a package that leaves no module in the output, such as a style. */
  add(name: string): void {
    this.#folders.add(join('node_modules', name));
  }

  /** Writes the list into that folder. Fails where a package names no licence. */
  write(folder: string): void {
    const list = [...this.#folders].sort().map((one) => this.#look(one));
    writeFileSync(join(folder, bundledList), `${JSON.stringify(list, null, 2)}\n`);
  }

  #take(id: string): void {
    const path = relative(this.#root, id.replace(/^\0/, '').replace(/[?].*$/, ''));
    const at = path.lastIndexOf('node_modules/');
    if (at < 0 || path.startsWith('..')) return;
    const [first = '', second = ''] = path.slice(at + 'node_modules/'.length).split('/');
    const name = first.startsWith('@') ? `${first}/${second}` : first;
    this.#folders.add(join(path.slice(0, at), 'node_modules', name));
  }

  #look(folder: string): Bundled {
    const text = readFileSync(join(this.#root, folder, 'package.json'), 'utf8');
    const { name, version, license } = JSON.parse(text) as Record<string, unknown>;
    if (typeof license !== 'string') throw new Error(`${folder} names no licence`);
    return { name: String(name), version: String(version), license, folder };
  }
}

/** @returns every package of these lists once, in order of name and version */
export function bundledIn(folders: readonly string[]): readonly Bundled[] {
  const all = folders.flatMap((folder) => {
    return JSON.parse(readFileSync(join(folder, bundledList), 'utf8')) as readonly Bundled[];
  });
  const byId = new Map(all.map((one) => [`${one.name}@${one.version}`, one]));
  return [...byId].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/**
 * @returns the text of its licence with its notices; without a licence file, the licence section of
 *   its README, or the name of the licence alone
 */
export function licenceText(root: string, { folder, license }: Bundled): string {
  const from = join(root, folder);
  const read = (file: string): string => readFileSync(join(from, file), 'utf8').trim();
  const files = globSync('{LICEN[CS]E,licen[cs]e,COPYING,NOTICE}*', { cwd: from }).sort();
  if (files.length > 0) return files.map(read).join('\n\n');
  const [readme] = globSync('{README,readme}*', { cwd: from });
  const [, said] = /^#+ licen[cs]e\n([^]+)/im.exec(readme === undefined ? '' : read(readme)) ?? [];
  return said?.trim() ?? `Its package says no more than: ${license}.`;
}
