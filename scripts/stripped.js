/**
 * Loaded before a process of tests, and before each of its threads. It gives Node the sources
 * without their types, and caches the result. Otherwise each thread would load the compiler that
 * removes types, half the cost of a ledger's start.
 */
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';

const root = join(import.meta.dirname, '..');
const kept = join(root, 'node_modules', '.cache', 'stripped', process.version);

registerHooks({
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
    const path = relative(root, fileURLToPath(url));
    if (path.startsWith('..') || path.startsWith('node_modules')) return next(url, context);
    return { format: 'module', source: stripped(path), shortCircuit: true };
  },
});

/** Keeps one file for each source, which ends with the time and size of that source. */
function stripped(path) {
  const { mtimeMs, size } = statSync(join(root, path));
  const mark = `\n// ${mtimeMs} ${size}`;
  const file = join(kept, path);
  try {
    const known = readFileSync(file, 'utf8');
    if (known.endsWith(mark)) return known;
  } catch {
    mkdirSync(dirname(file), { recursive: true });
  }
  const source = stripTypeScriptTypes(readFileSync(join(root, path), 'utf8')) + mark;
  // Threads of a process may load the same source at once.
  const next = `${file}.${process.pid}-${threadId}`;
  writeFileSync(next, source);
  renameSync(next, file);
  return source;
}
