import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withGeneratedParts } from '../../scripts/generated-parts.ts';
import { jsonSchema } from '../../src/config/json-schema.ts';
import { problemCodes } from '../../src/config/problems.ts';
import { referencePage } from '../../src/config/reference.ts';

const reference = join(import.meta.dirname, '../../docs/reference');
const read = (file: string): string => readFileSync(join(reference, file), 'utf8');

test('docs/reference/configuration.md is what the schema says; `npm run docs` writes it', () => {
  assert.equal(read('configuration.md'), referencePage());
});

test('docs/reference/config.schema.json is what the schema says; `npm run docs` writes it', () => {
  assert.deepEqual(JSON.parse(read('config.schema.json')), jsonSchema());
});

test('tables in other pages are what the source says; `npm run docs` writes them', async () => {
  for (const file of readdirSync(reference).filter((name) => name.endsWith('.md'))) {
    assert.equal(await withGeneratedParts(read(file)), read(file), file);
  }
});

test('a part is made anew between its marks, and the rest of the page stays', async () => {
  const [before, after] = [
    '# API\n\n<!-- begin: routes (npm run docs) -->',
    '<!-- end -->\n\nEnd\n',
  ];
  const made = await withGeneratedParts(`${before}\nformer text\n${after}`);
  assert.ok(made.startsWith(`${before}\n\n| Method `));
  assert.ok(made.endsWith(` |\n\n${after}`));
  assert.ok(!made.includes('former text'));
  assert.equal(await withGeneratedParts(made), made);
  await assert.rejects(withGeneratedParts(made.replace('<!-- end -->', '')), /part routes/);
  await assert.rejects(withGeneratedParts(made.replace('routes', 'others')), /part others/);
});

test('the reference lists every code', () => {
  const page = read('configuration.md');
  for (const code of Object.keys(problemCodes)) assert.ok(page.includes(`| \`${code}\` |`), code);
});
