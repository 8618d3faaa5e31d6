/** Finds the tests near a source file, by their imports and those of their helpers. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Fault } from '../../test/planted/fault.ts';

/** These tests read source text, so a red one shows no change of behaviour. */
const readers = new Set(['test/project/planted.test.ts', 'test/project/tidy.test.ts']);

/**
 * Test files in three rounds: those beside the fault's file or importing it; those importing
 * another file of its folder, or a file that imports it; all others.
 */
export type Rounds = {
  readonly near: readonly string[];
  readonly room: readonly string[];
  readonly others: readonly string[];
};

export class TestFiles {
  readonly #root: string;
  readonly #files: readonly string[];
  /** The files of src/ and web/ that each test file imports. */
  readonly #reached = new Map<string, ReadonlySet<string>>();
  readonly #imports = new Map<string, readonly string[]>();

  /** @param root of the tree; file names are relative to it */
  constructor(root: string) {
    this.#root = root;
    const all = globSync('{src,apps,test,web}/**/*.test.ts', { cwd: root });
    this.#files = all.filter((file) => !readers.has(file)).sort();
    for (const file of this.#files) this.#reached.set(file, this.#reach(file));
  }

  roundsFor({ file, seenBy = [] }: Fault): Rounds {
    const folder = dirname(file);
    const beside = this.#files.filter((test) => dirname(test) === folder);
    const direct = this.#files.filter((test) => this.#reached.get(test)!.has(file));
    const near = new Set([...seenBy, ...beside, ...direct]);
    const isOfRoom = (reached: string): boolean =>
      dirname(reached) === folder || this.#importsOf(reached).includes(file);
    const left = this.#files.filter((test) => !near.has(test));
    const room = left.filter((test) => [...this.#reached.get(test)!].some(isOfRoom));
    return { near: [...near], room, others: left.filter((test) => !room.includes(test)) };
  }

  /** Follows helpers of the tests, but not the sources, whose imports reach nearly everything. */
  #reach(test: string): ReadonlySet<string> {
    const reached = new Set<string>();
    const seen = new Set([test]);
    for (const file of seen) {
      for (const imported of this.#importsOf(file)) {
        if (imported.startsWith('test/')) seen.add(imported);
        else reached.add(imported);
      }
    }
    return reached;
  }

  #importsOf(file: string): readonly string[] {
    const known = this.#imports.get(file);
    if (known !== undefined) return known;
    const path = join(this.#root, file);
    const text = /\.tsx?$/.test(file) && existsSync(path) ? readFileSync(path, 'utf8') : '';
    const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
    const imports = Array.from(found, ([, to]) => {
      return relative(this.#root, join(this.#root, dirname(file), to!));
    });
    this.#imports.set(file, imports);
    return imports;
  }
}
