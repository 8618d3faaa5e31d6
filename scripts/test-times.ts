/** What each test file took when it last ran on this machine, so that the slowest begin first. */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
/** For people to look at when a run got slow. */
const file = join(root, 'node_modules', '.cache', 'test-times.json');

/** `cpuMs` is what the file's process took of the processor, without those that it started. */
export type Took = { readonly ms: number; readonly cpuMs: number };

/** @param tests paths from the root of the repository */
export function slowestFirst(tests: readonly string[]): readonly string[] {
  const known = read();
  const ms = new Map(tests.map((test) => [test, known[test]?.ms ?? guess(test)]));
  return [...tests].sort((one, other) => ms.get(other)! - ms.get(one)!);
}

/** A file without a known time goes first: the whole program, then its parts, long texts first. */
function guess(test: string): number {
  const whole = test.startsWith('test/') ? 1_000_000 : 0;
  return 1_000_000 + whole + statSync(join(root, test)).size;
}

export function rememberTimes(took: Readonly<Record<string, Took>>): void {
  const rounded = Object.entries(took).map(([test, { ms, cpuMs }]) => {
    return [test, { ms: Math.round(ms), cpuMs: Math.round(cpuMs) }] as const;
  });
  mkdirSync(dirname(file), { recursive: true });
  // Another run of tests may read the file just now.
  const next = `${file}.${process.pid}`;
  writeFileSync(next, JSON.stringify({ ...read(), ...Object.fromEntries(rounded) }, null, 1));
  renameSync(next, file);
}

function read(): Readonly<Record<string, Took>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, Took>;
  } catch {
    return {};
  }
}
