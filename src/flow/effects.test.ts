import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../domain/reply.ts';
import { partsOf } from './effects.ts';

const choices = [{ label: 'Approve', says: '/approve 4XK2M9TQ0Z' }];
const reply = { id: 'r1', text: 'one|two|three', choices } as unknown as Reply;

test('what may be pressed stands under the last part of a reply', () => {
  const parts = partsOf({ split: (text) => text.split('|') }, reply);
  assert.deepEqual(
    parts.map((part) => [part.id, part.text, part.choices]),
    [
      ['r1-00', 'one', undefined],
      ['r1-01', 'two', undefined],
      ['r1-02', 'three', choices],
    ],
  );
  assert.ok(!('choices' in parts[0]!));
  assert.deepEqual(partsOf({}, reply), [reply]);
});
