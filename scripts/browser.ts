/**
 * `npm run browser`: the tests of the pages, in one process and one Chromium, two files at a time;
 * or those that are named after `--`, by a part of their path.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'node:test';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..');
const named = process.argv.slice(2);
const all = globSync('test/browser/*.browser.ts', { cwd: root }).sort();
const files = named.length === 0 ? all : all.filter((one) => named.some((it) => one.includes(it)));
if (files.length === 0) throw new Error(`no test of a page is called ${named.join(' or ')}`);

// Loaded here, so that it closes Chromium after all files, and not after the first that loads it.
await import('../test/browser/browser.ts');

void suite('the pages', { concurrency: 2 }, async () => {
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
