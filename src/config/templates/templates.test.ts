/** Every template is whole, and those that are an example too are the same one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { validateText } from '../validate.ts';
import { templates, textOf } from './templates.ts';

const examples = join(import.meta.dirname, '../../../examples');

for (const { name, title, document } of templates) {
  test(`the template "${title}" has no problem and warns of nothing`, () => {
    const { kind, problems } = validateText(textOf(document));
    assert.deepEqual([kind, problems], ['valid', []], name);
  });
}

const same: readonly (readonly [template: string, example: string])[] = [
  ['echo', 'echo'],
  ['consensus', 'consensus'],
  ['local-first', 'local-first-paid-second'],
];

for (const [name, example] of same) {
  test(`the template ${name} is the example ${example}`, () => {
    const text = readFileSync(join(examples, `${example}.json`), 'utf8');
    const found = templates.find((template) => template.name === name);
    // What stands beside it: what the example is about, and where it keeps its file.
    const own = ({ _about, storage: _storage, ...rest }: Record<string, unknown>) => rest;
    assert.deepEqual(own(found!.document), own(JSON.parse(text)));
  });
}
