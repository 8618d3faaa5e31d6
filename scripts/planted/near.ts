/** Which tests are near a source file, by what they import themselves or by their helpers. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Fault } from '../../test/planted/fault.ts';

/** They look at the text of the sources: what they see is no behaviour. */
const readers = new Set(['test/planted.test.ts', 'test/tidy.test.ts']);

/** Test files in three rounds: those near the fault, those of its room, all others. */
export type Rounds = {
  readonly near: readonly string[];
  readonly room: readonly string[];
  readonly others: readonly string[];
};

export class TestFiles {
  readonly #root: string;
  readonly #files: readonly string[];
  /** What each test file imports of src/ and web/. */
  readonly #reached = new Map<string, ReadonlySet<string>>();

  /** @param root of the tree; files are named relative to it */
  constructor(root: string) {
    this.#root = root;
    const all = globSync('{src,test,web}/**/*.test.ts', { cwd: root });
    this.#files = all.filter((file) => !readers.has(file)).sort();
    const imports = new Map<string, readonly string[]>();
    for (const file of this.#files) this.#reached.set(file, this.#reach(file, imports));
  }

  roundsFor({ file, seenBy = [] }: Fault): Rounds {
    const folder = dirname(file);
    const beside = this.#files.filter((test) => dirname(test) === folder);
    const direct = this.#files.filter((test) => this.#reached.get(test)!.has(file));
    const near = new Set([...seenBy, ...beside, ...direct]);
    const ofRoom = this.#files.filter((test) =>
      [...this.#reached.get(test)!].some((reached) => dirname(reached) === folder),
    );
    const room = ofRoom.filter((test) => !near.has(test));
    const others = this.#files.filter((test) => !near.has(test) && !ofRoom.includes(test));
    return { near: [...near], room, others };
  }

  /** Through helpers of the tests; not through the sources, which reach nearly everything. */
  #reach(test: string, known: Map<string, readonly string[]>): ReadonlySet<string> {
    const reached = new Set<string>();
    const seen = new Set([test]);
    for (const file of seen) {
      for (const imported of this.#importsOf(file, known)) {
        if (imported.startsWith('test/')) seen.add(imported);
        else reached.add(imported);
      }
    }
    return reached;
  }

  #importsOf(file: string, known: Map<string, readonly string[]>): readonly string[] {
    const before = known.get(file);
    if (before !== undefined) return before;
    const text = file.endsWith('.ts') ? readFileSync(join(this.#root, file), 'utf8') : '';
    const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
    const imports = Array.from(found, ([, path]) => {
      return relative(this.#root, join(this.#root, dirname(file), path!));
    });
    known.set(file, imports);
    return imports;
  }
}
