/** What a browser has to load before the builder can be used. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const folder = join(import.meta.dirname, '../web/dist/builder');
const bytesMax = 250_000;

/** The files that a page names, and those that these import without being asked to. */
function filesOf(page: string): readonly string[] {
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

test('the builder weighs at most 250 kB before its text editor is asked for', () => {
  const file = join(folder, 'index.html');
  assert.ok(existsSync(file), 'the pages are not built: npm run pages');
  const page = readFileSync(file, 'utf8');
  const names = filesOf(page);
  assert.ok(names.some((name) => name.endsWith('.js')) && names.some((n) => n.endsWith('.css')));
  const parts = [page, ...names.map((name) => readFileSync(join(folder, 'assets', name), 'utf8'))];
  const bytes = parts.reduce((sum, part) => sum + gzipSync(part).length, 0);
  assert.ok(bytes <= bytesMax, `${bytes} bytes compressed: ${names.join(', ')}`);
  assert.ok(!parts.some((part) => part.includes('cm-content')), 'the editor is among them');
});
