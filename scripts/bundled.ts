/**
 * Which packages stand in what a bundler made, so that a release can tell of them: their licences
 * come along with it, and its bill of materials names them.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** A package as it lies in `node_modules` while svc is built. */
export type Bundled = {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression, as its package.json has it. */
  readonly license: string;
  /** From the root of the project. */
  readonly folder: string;
};

/** The name of the list, in the folder of what was built. */
export const bundledList = 'bundled.json';

/** What a build has taken in, over as many bundles as it writes. */
export class Intake {
  readonly #root: string;
  readonly #folders = new Set<string>();

  /** @param root of the project, absolute */
  constructor(root: string) {
    this.#root = root;
  }

  /** A plugin of Rolldown and of Vite, which sees every module that was written. */
  readonly plugin = {
    name: 'bundled',
    generateBundle: (_: unknown, bundle: Readonly<Record<string, object>>): void => {
      for (const file of Object.values(bundle)) {
        const ids = 'moduleIds' in file ? (file.moduleIds as readonly string[]) : [];
        for (const id of ids) this.#take(id);
      }
    },
  };

  /** One that leaves no module behind, such as a style. @param name of the package */
  add(name: string): void {
    this.#folders.add(join('node_modules', name));
  }

  /** Writes the list of them into that folder. Fails where a package says no licence. */
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
 * @returns the text of its licence, with its notices; where no file has one, what its README says
 * under that heading, or the name alone
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
