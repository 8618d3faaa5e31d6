import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { validateText } from '../../src/config/validate.ts';

const folder = join(import.meta.dirname, '../golden');
const names = globSync('*.json', { cwd: folder })
  .filter((file) => !file.endsWith('.parsed.json'))
  .sort();

test('the files of earlier releases are here', () => {
  assert.ok(names.length >= 6);
});

/** Each file is an example of people's configurations. Later releases must read it the same way. */
for (const name of names) {
  test(`golden: ${name} means what it meant`, () => {
    const validation = validateText(readFileSync(join(folder, name), 'utf8'));
    assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems, null, 2));
    const snapshot = join(folder, name.replace(/\.json$/, '.parsed.json'));
    if (process.env['UPDATE_GOLDEN'] === '1') {
      writeFileSync(snapshot, `${JSON.stringify(validation.config, null, 2)}\n`);
    }
    assert.ok(existsSync(snapshot), `${snapshot} is missing: UPDATE_GOLDEN=1 writes it`);
    const { config } = validation;
    assert.deepEqual(
      JSON.parse(JSON.stringify(config)),
      JSON.parse(readFileSync(snapshot, 'utf8')),
    );
  });
}
