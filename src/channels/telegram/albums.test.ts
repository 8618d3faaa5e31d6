import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Setting } from '../../domain/message.ts';
import { Albums, safeOf } from './polling.ts';
import type { Update } from './wire.ts';

const part = (id: number, setting: Setting, key = 'a'): Update => {
  const gather = { kind: 'album', key, ms: 1_000 };
  const said = { conversation: '-1007', sender: { id: '7', name: 'Ann' }, gather, setting };
  return { id, message: said } as unknown as Update;
};

test('a part in a group is not safe before its album is whole', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const safe = new Set<string>();
  const watch = (name: string, update: Update): void => {
    void safeOf(update, Promise.resolve()).then(() => safe.add(name));
  };
  watch('in a group', part(1, 'addressed'));
  watch('to others', part(1, 'overheard'));
  watch('alone', part(1, 'direct'));
  await new Promise(setImmediate);
  assert.deepEqual([...safe], ['alone']);
  t.mock.timers.tick(999);
  await new Promise(setImmediate);
  assert.deepEqual([...safe], ['alone']);
  t.mock.timers.tick(1);
  await new Promise(setImmediate);
  assert.deepEqual([...safe], ['alone', 'in a group', 'to others']);
});

test('what is said with one part holds for all of its album, and for later ones', () => {
  const albums = new Albums();
  const settings = (...updates: readonly Update[]) =>
    albums.settle(updates).map(({ message }) => message?.setting);
  assert.deepEqual(
    settings(part(1, 'overheard'), part(2, 'addressed'), part(3, 'overheard', 'b')),
    ['addressed', 'addressed', 'overheard'],
  );
  assert.deepEqual(settings(part(4, 'overheard')), ['addressed']);
});
