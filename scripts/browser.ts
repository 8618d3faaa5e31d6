/**
 * `npm run browser`: runs the tests of the pages in one process and one Chromium, a few files at a
 * time. Arguments after `--` select the files whose path contains one of them.
 */
import { globSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { after, suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { telling } from './progress.ts';

const root = join(import.meta.dirname, '..');
const named = process.argv.slice(2);
const all = globSync('test/browser/*.browser.ts', { cwd: root }).sort();
const files = named.length === 0 ? all : all.filter((one) => named.some((it) => one.includes(it)));
if (files.length === 0) throw new Error(`no test of a page is called ${named.join(' or ')}`);

/** These begin first: a long file that begins late runs alone at the end. */
const longest = ['live-view', 'outages', 'dead-letters', 'links'];
const rank = (file: string): number => {
  const at = longest.indexOf(basename(file, '.browser.ts'));
  return at === -1 ? longest.length : at;
};
files.sort((one, other) => rank(one) - rank(other));

/** Page and service wait for each other, so two processors have work for four files. */
const filesAtOnce = 4;

enableCompileCache(join(root, 'node_modules', '.cache', 'compiled'));

// Loaded here, so that its hook closes Chromium after all files, not after the first that loads it.
const { underWay } = await import('../test/browser/browser.ts');

const { promise: ended, resolve: end } = Promise.withResolvers<void>();
void telling(underWay, ended);

void suite('the pages', { concurrency: filesAtOnce }, async () => {
  after(() => end());
  for (const file of files) await load(file);
});

/** Loads a file. Files load one after the other; the tests of a file run later, one at a time. */
async function load(file: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  void suite(file, { concurrency: 1 }, async () => {
    try {
      await import(pathToFileURL(join(root, file)).href);
    } finally {
      resolve();
    }
  });
  await promise;
}
