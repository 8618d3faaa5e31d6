import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reply } from '../domain/reply.ts';
import { partsOf } from './effects.ts';

const choices = [{ label: 'Approve', says: '/approve 4XK2M9TQ0Z' }];
const reply = { id: 'r1', text: 'one|two|three', choices } as unknown as Reply;

const channel = {
  split: (text: string) => text.split('|').map((part) => ({ text: part })),
};

test('what may be pressed stands under the last part of a reply', () => {
  const parts = partsOf(channel, reply);
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

test('the first part becomes the message that is replaced, and no other', () => {
  const parts = partsOf(channel, { ...reply, replaces: 'm1' });
  assert.deepEqual(
    parts.map(({ replaces }) => replaces),
    ['m1', undefined, undefined],
  );
});

test('a reply of code alone is a file', () => {
  const split = () => [{ text: 'let a;', file: { name: 'code.js' } }];
  const [part, ...rest] = partsOf({ split }, { ...reply, replaces: 'm1' });
  assert.deepEqual(rest, []);
  assert.deepEqual([part?.id, part?.text, part?.file?.name], ['r1', 'let a;', 'code.js']);
  assert.deepEqual([part?.replaces, part?.choices], ['m1', choices]);
});
