/** A message about one text does not show for another text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refused } from '../../kit/api.ts';
import { ageOf } from './outcome-age.ts';

const refused: Refused = { kind: 'refused', status: 409, code: 'x', detail: 'No.', extra: {} };
const taken = { revision: 'r', usedAt: 1, changes: [], warnings: [] };

test('that it was refused is old after an edit, and gone with the last change', () => {
  const state = { kind: 'refused', refused, text: 'mine' } as const;
  assert.equal(ageOf(state, { text: 'mine', used: 'theirs' }), 'now');
  assert.equal(ageOf(state, { text: 'mine, mended', used: 'theirs' }), 'before_edit');
  assert.equal(ageOf(state, { text: 'theirs', used: 'theirs' }), 'gone');
  assert.equal(ageOf(state, { text: 'mine', used: 'mine' }), 'now', 'a restore without a draft');
});

test('that it is in use is told until the draft changes again', () => {
  const state = { kind: 'applied', taken, restored: false, text: 'mine' } as const;
  assert.equal(ageOf(state, { text: 'mine', used: 'mine' }), 'now');
  assert.equal(ageOf(state, { text: 'mine, and more', used: 'mine' }), 'gone');
});
