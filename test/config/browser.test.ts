import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { rolldown } from 'rolldown';
import type { Validation } from '../../src/config/validate.ts';
import { plain } from './cases.ts';

const entry = join(import.meta.dirname, '../../src/config/validate.ts');

test('the check bundles for a browser and runs with nothing but the language', async () => {
  await using bundle = await rolldown({
    input: entry,
    platform: 'browser',
    external: /^node:/,
    logLevel: 'silent',
  });
  const { output } = await bundle.generate({ format: 'iife', name: 'svcConfig' });
  assert.equal(output.length, 1);
  const [{ code, imports }] = output;
  assert.deepEqual(imports, [], 'nothing of Node is imported');
  const context = createContext({ text: plain, spoilt: plain.replace('"private"', '1') });
  const run = (source: string): unknown => runInContext(source, context);
  run(code);
  const good = run('JSON.stringify(svcConfig.validateText(text))');
  const bad = run('JSON.stringify(svcConfig.validateText(spoilt))');
  assert.equal((JSON.parse(good as string) as Validation).kind, 'valid');
  assert.equal(
    (JSON.parse(bad as string) as Validation).problems[0]?.path,
    'brains[0].sensitivity',
  );
});
