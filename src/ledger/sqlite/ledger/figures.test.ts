import { minuteMs } from '../../../lib/durations.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GroupCommit } from '../write/group-commit.ts';
import { Figures } from './agent-reads.ts';

test('figures take no room on a disk that has none, and keep no storage from its end', async () => {
  const added: unknown[] = [];
  const room = { has: false };
  const groupCommit = {
    broken: false,
    add: (write: unknown) => added.push(write),
    writtenNow: async () => true,
  };
  const figures = new Figures(groupCommit as unknown as GroupCommit, () => room.has);
  const row = { lengthMs: minuteMs, at: 60_000, run: 7, body: '{}' } as const;
  assert.equal(await figures.keep([row]), false);
  assert.deepEqual(added, []);
  room.has = true;
  assert.equal(await figures.keep([row]), true);
  assert.deepEqual(added, [['figure', minuteMs, 60_000, 7, '{}']]);
});
