/** Runs the test files and proofs of a copy until one turns red. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** `file` is relative to the tree. */
export type Sign =
  | { readonly kind: 'alive'; readonly file: string }
  | { readonly kind: 'red' | 'hang'; readonly file: string; readonly test: string };

/** `hang`: a test exceeded its time, or nothing ended within the silence limit. */
export type Seen = Exclude<Sign, { kind: 'alive' }> | { readonly kind: 'green' };

export type TestRun = {
  readonly tree: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** They run in this order, one after the other. */
  readonly files: readonly string[];
  readonly silenceMsMax: number;
  /** Ends the run and makes its result meaningless. */
  readonly stop: AbortSignal;
};

const runner = join(import.meta.dirname, '..', 'planted-tests.ts');

/** Runs files until a test is red, then ends all processes that the tests started. */
export async function firstRed(options: TestRun): Promise<Seen> {
  const { tree, env, files, silenceMsMax, stop } = options;
  if (files.length === 0 || stop.aborted) return { kind: 'green' };
  const child = spawn(process.execPath, [runner, ...files], {
    cwd: tree,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (words += part));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const found = Promise.withResolvers<Seen>();
  let file = files[0]!;
  const silent = (): void => found.resolve({ kind: 'hang', file, test: 'nothing ended any more' });
  const silence = setTimeout(silent, silenceMsMax);
  createInterface(child.stdout).on('line', (line) => {
    silence.refresh();
    const sign = JSON.parse(line) as Sign;
    file = sign.file;
    if (sign.kind !== 'alive') found.resolve(sign);
  });
  const stopped = (): void => found.resolve({ kind: 'green' });
  stop.addEventListener('abort', stopped, { once: true });
  try {
    const seen = await Promise.race([found.promise, ended]);
    if (seen === 0) return { kind: 'green' };
    if (seen !== null && typeof seen === 'object') return seen;
    throw new Error(`the tests could not be run: ${words}`);
  } finally {
    stop.removeEventListener('abort', stopped);
    clearTimeout(silence);
    endGroup(child.pid);
    await ended;
  }
}

/** Kills the tests and the programs that they started. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // All processes of the group have ended.
  }
}
