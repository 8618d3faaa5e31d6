/** The files that a browser must load before a page works. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const pages = join(import.meta.dirname, '../../web/dist');

/** The files that a page names, and their static imports. */
function filesOf(folder: string, page: string): readonly string[] {
  const found = new Set<string>();
  const read = (text: string, pattern: RegExp): void => {
    for (const [, name] of text.matchAll(pattern)) {
      if (found.has(name!)) continue;
      found.add(name!);
      const inner = readFileSync(join(folder, 'assets', name!), 'utf8');
      read(inner, /(?:^|[;}\s])import(?:[^;()'"]*?from)?["']\.\/([\w.-]+)["']/g);
    }
  };
  read(page, /(?:src|href)="[^"]*\/assets\/([^"]+)"/g);
  return [...found];
}

/** The page and all its files, as text. */
function partsOf(name: string): readonly string[] {
  const folder = join(pages, name);
  const file = join(folder, 'index.html');
  assert.ok(existsSync(file), 'the pages are not built: npm run pages');
  const page = readFileSync(file, 'utf8');
  const names = filesOf(folder, page);
  assert.ok(names.some((one) => one.endsWith('.js')) && names.some((n) => n.endsWith('.css')));
  return [page, ...names.map((one) => readFileSync(join(folder, 'assets', one), 'utf8'))];
}

function assertLight(parts: readonly string[], bytesMax: number): void {
  const bytes = parts.reduce((sum, part) => sum + gzipSync(part).length, 0);
  assert.ok(bytes <= bytesMax, `${bytes} bytes compressed`);
}

test('the live view weighs at most 190 kB before a second view is opened', () => {
  assertLight(partsOf('live'), 190_000);
});

test('the builder weighs at most 249.6 kB before its text editor is asked for', () => {
  const parts = partsOf('builder');
  assertLight(parts, 249_600);
  assert.ok(!parts.some((part) => part.includes('cm-content')), 'the editor is among them');
});

test('the page of the first run weighs at most 100 kB', () => {
  assertLight(partsOf('setup'), 100_000);
});
