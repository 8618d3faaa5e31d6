/**
 * `npm run browser`: the tests of the pages, in one process and one Chromium, a few files at a
 * time; or those that are named after `--`, by a part of their path.
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

/** Begun late, one of these would be alone at the end. */
const longest = ['live-view', 'outages', 'dead-letters', 'links'];
const rank = (file: string): number => {
  const at = longest.indexOf(basename(file, '.browser.ts'));
  return at === -1 ? longest.length : at;
};
files.sort((one, other) => rank(one) - rank(other));

/** A page waits for its service, and a service for its page: two processors have work for four. */
const filesAtOnce = 4;

enableCompileCache(join(root, 'node_modules', '.cache', 'compiled'));

// Loaded here, so that it closes Chromium after all files, and not after the first that loads it.
const { underWay } = await import('../test/browser/browser.ts');

const { promise: ended, resolve: end } = Promise.withResolvers<void>();
void telling(underWay, ended);

void suite('the pages', { concurrency: filesAtOnce }, async () => {
  after(() => end());
  for (const file of files) await load(file);
});

/** The tests of a file run later, one at a time. Files are loaded one after the other. */
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
