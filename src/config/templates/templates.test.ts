/** Every template is valid, and a template that is also an example is equal to it. */
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
    // The example alone has a note about its use, and may name a file for its storage.
    const own = ({ _about, storage: _storage, ...rest }: Record<string, unknown>) => rest;
    assert.deepEqual(own(found!.document), own(JSON.parse(text)));
  });
}
