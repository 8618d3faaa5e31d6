/** svc takes each whole configuration that the documents show. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../support/in-process.ts';
import { scratch } from '../support/program.ts';
import { blocksOf, pages, textOf } from './blocks.ts';

const whole = pages.flatMap((page) =>
  blocksOf(textOf(page))
    .filter(({ info, text }) => info[0] === 'json' && /^\{[^]*"channels"[^]*"brains"/.test(text))
    .map(({ line, text }) => ({ where: `${page}:${line}`, text })),
);

test('the README and the recipes show whole configurations', () => {
  const shown = new Set(whole.map(({ where }) => where.replace(/:\d+$/, '')));
  for (const page of ['README.md', 'docs/recipes/family-bot.md', 'docs/recipes/support-bot.md']) {
    assert.ok(shown.has(page), page);
  }
});

for (const { where, text } of whole) {
  test(`svc config check takes the configuration at ${where}`, async () => {
    await using folder = await scratch();
    const file = join(folder.path, 'svc.json');
    await writeFile(file, text);
    const { code, out, err } = await runCommand(['config', 'check', file]);
    assert.equal(code, 0, out + err);
  });
}
