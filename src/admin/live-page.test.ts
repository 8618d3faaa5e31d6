import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { webRoot } from '../../test/fake/admin-world.ts';

const folder = join(webRoot, 'live');
const html = readFileSync(join(folder, 'index.html'), 'utf8');
const script = textOf('.js');
const style = textOf('.css');

function textOf(ending: string): string {
  const names = readdirSync(folder).filter((name) => name.endsWith(ending));
  return names.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
}

test('the page runs and loads nothing but its own files', () => {
  for (const [, inside] of html.matchAll(/<script[^>]*>([^]*?)<\/script>/g)) {
    assert.equal(inside, '');
  }
  assert.doesNotMatch(html, /<style|\sstyle=|\son[a-z]+=|javascript:|<base|<form/i);
  const loaded = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url]) => url!);
  for (const url of loaded) assert.match(url, /^(\/(ui|api\/v1|metrics)(\/[\w.]+)*|data:,)$/);
  assert.doesNotMatch(style, /@import|url\(|https?:/);
});

test('the script puts in text only', () => {
  assert.doesNotMatch(
    script,
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|\.style\b|import\(/,
  );
});

test('every element that the script asks for is on the page, once', () => {
  const asked = [...script.matchAll(/(?:byId|setText|fill)\(\s*'([\w-]+)'/g)].map(([, id]) => id!);
  assert.ok(asked.length > 10);
  for (const id of asked) assert.equal(html.split(`id="${id}"`).length, 2, id);
  const labels = [...html.matchAll(/aria-labelledby="([\w-]+)"/g)].map(([, id]) => id!);
  for (const id of labels) assert.equal(html.split(`id="${id}"`).length, 2, id);
});

test('the page can be read by ear: language, landmarks, headings, header cells', () => {
  assert.match(html, /<html lang="en">/);
  for (const tag of ['header', 'main', 'footer', 'h1', 'title']) {
    assert.equal(html.split(`<${tag}`).length, 2, tag);
  }
  assert.match(html, /id="health"[^>]*role="status"[^>]*aria-live="polite"/);
  const cells = html.match(/<th\b[^>]*>/g) ?? [];
  assert.ok(cells.length > 0 && cells.every((cell) => cell.includes('scope="col"')));
});

test('the script fits the type of the status that it shows', { timeout: 30_000 }, async () => {
  const root = join(webRoot, '..');
  const options = '--ignoreConfig --noEmit --allowJs --checkJs --strict --skipLibCheck';
  const modules = '--lib esnext,dom,dom.iterable --types node --module nodenext --target esnext';
  const more = '--allowImportingTsExtensions --noUncheckedIndexedAccess web/live/live.js';
  const args = `${options} ${modules} ${more}`.split(' ');
  const tsc = spawn(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  tsc.stdout.on('data', (chunk) => (said += String(chunk)));
  const [code] = (await once(tsc, 'close')) as [number];
  assert.equal(code, 0, said);
});
