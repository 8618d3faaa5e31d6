/** A copy of the tree to plant faults in. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Fault } from '../../test/planted/fault.ts';

/** Folders that a build makes again, or that no test uses. */
const left = new Set(['.git', 'dist', 'node_modules', '.tmp']);

/** The sources, with the node_modules of the tree that was copied. */
export class Copy implements Disposable {
  readonly tree: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly #base: string;

  /** @param root the tree to copy */
  constructor(root: string) {
    this.#base = mkdtempSync(join(tmpdir(), 'svc-planted-'));
    // Some tests read the copy as another user.
    chmodSync(this.#base, 0o755);
    this.tree = join(this.#base, 'tree');
    const filter = (from: string): boolean =>
      !left.has(from.slice(root.length + 1)) && !basename(from).startsWith('.dist-');
    cpSync(root, this.tree, { recursive: true, filter });
    symlinkSync(join(root, 'node_modules'), join(this.tree, 'node_modules'));
    const tmp = join(this.#base, 'tmp');
    mkdirSync(tmp);
    this.env = {
      ...process.env,
      TMPDIR: tmp,
      NODE_COMPILE_CACHE: join(this.#base, 'compiled'),
      SVC_FROM_SOURCES: '1',
      NODE_TEST_CONTEXT: undefined,
    };
  }

  /** Plants the fault until the scope ends. @throws where the file has no place for it */
  plant(fault: Fault): Disposable {
    const path = join(this.tree, fault.file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, planted(text, fault));
    return { [Symbol.dispose]: () => writeFileSync(path, text) };
  }

  [Symbol.dispose](): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

/** @returns the text with the fault in it @throws where its place is not there exactly once */
export function planted(text: string, { file, find, replace }: Omit<Fault, 'name'>): string {
  const places = text.split(find).length - 1;
  if (places !== 1) throw new Error(`${file} holds "${find}" ${places} times`);
  return text.replace(find, () => replace);
}
