/** The lines of a channel's routes on the map. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteStatus } from '../../../src/admin/admin.ts';
import { linesOf, routesOf } from './routes.ts';

const support = { type: 'messenger_a', name: 'support', brain: 'all' } as const;
const route = { channel: 'support', running: true };
const chat = { key: 'chat', entries: ['-100123', '7'] } as const;
const routes: readonly RouteStatus[] = [
  { ...route, channel: 'messenger_a', brain: 'other', number: 1, when: null },
  { ...route, brain: 'team', number: 2, when: [chat, { key: 'command', entries: ['/team'] }] },
  { ...route, brain: 'all', number: 4, when: null },
];

test('each route of a channel is a line of its own, with its number and conditions', () => {
  assert.deepEqual(linesOf(routesOf(support, routes)), [
    { words: '2: chat -100123 or 7, command /team', brain: 'team' },
    { words: '4: every other message', brain: 'all' },
  ]);
});

test('a channel whose one route takes every message has one line without words', () => {
  const own = routesOf({ ...support, name: null }, routes);
  assert.deepEqual([own.map(({ brain }) => brain), linesOf(own)], [['other'], []]);
  const older = routesOf(support, null);
  assert.deepEqual(older, [{ brain: 'all', number: null, when: null }]);
});

test('a reader without the token sees which kinds of condition a route has', () => {
  const hidden = [{ brain: 'team', number: 2, when: [{ key: 'chat', entries: null }] }] as const;
  assert.deepEqual(linesOf(hidden), [{ words: '2: chat', brain: 'team' }]);
});
