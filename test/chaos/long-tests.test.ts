import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { callApart } from '../support/call-apart.ts';
import { scratch } from '../support/program.ts';
import { filesWithRuns } from './long-tests.ts';

const proof = import.meta.resolve('./long-tests.ts');

test('the tests with random values are found', () => {
  const files = filesWithRuns().join('\n');
  for (const name of ['openapi-fuzz', 'read-file-race', 'consensus-key', 'config/properties']) {
    assert.ok(new RegExp(`${name}\\.(slow\\.)?test\\.ts`).test(files), name);
  }
});

test('they are tried so many times as often, and what fails is told', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'law.mjs');
  const runs = import.meta.resolve('../support/runs.ts');
  const text = `
    import { test } from 'node:test';
    import { runs } from ${JSON.stringify(runs)};
    test('a law', () => { if (runs(100) !== 300) throw new Error('tried ' + runs(100)); });`;
  await writeFile(file, text);
  const proved = await callApart(proof, 'runLong', [file], 3, 7);
  assert.deepEqual(proved, { kind: 'proved', figures: { files: 1, tests: 1 } });
  await assert.rejects(callApart(proof, 'runLong', [file], 4, 7), /✖ a law[^]*tried 400/);
});
