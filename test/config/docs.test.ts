import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonSchema } from '../../src/config/json-schema.ts';
import { problemCodes } from '../../src/config/problems.ts';
import { referencePage } from '../../src/config/reference.ts';
import { generatedPart, metricTables } from '../../scripts/docs-parts.ts';

const reference = join(import.meta.dirname, '../../docs/reference');
const read = (file: string): string => readFileSync(join(reference, file), 'utf8');

test('docs/reference/configuration.md is what the schema says; `npm run docs` writes it', () => {
  assert.equal(read('configuration.md'), referencePage());
});

test('docs/reference/config.schema.json is what the schema says; `npm run docs` writes it', () => {
  assert.deepEqual(JSON.parse(read('config.schema.json')), jsonSchema());
});

test('docs/reference/metrics.md has the metrics of the program; `npm run docs` writes them', () => {
  const page = read('metrics.md');
  assert.equal(page, generatedPart(page, 'metrics', metricTables()));
  assert.throws(() => generatedPart(page, 'nothing', ''), /nothing/);
});

test('the reference lists every code', () => {
  const page = read('configuration.md');
  for (const code of Object.keys(problemCodes)) assert.ok(page.includes(`| \`${code}\` |`), code);
});
