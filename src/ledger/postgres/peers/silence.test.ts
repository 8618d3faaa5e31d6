import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { goneProcess, Marks } from '../../../../test/fake/postgres/marks.ts';
import type { SteadyTime } from '../../../lib/clock.ts';
import { joinInstances } from './peers.ts';
import { declareDead, SilenceDetector } from './heartbeat.ts';

/** The ids of the instances that have fallen silent. */
function look(silence: SilenceDetector, at: number, alive: readonly (readonly [number, number])[]) {
  const seen = alive.map(([id, grp]) => ({ id, grp }));
  return silence.observe(seen, at as SteadyTime).map(({ id }) => id);
}

test('who has not moved for long enough is silent, by whoever looked all the time', () => {
  const silence = new SilenceDetector(9_000);
  for (let at = 0; at < 9_000; at += 1_000) {
    assert.deepEqual(
      look(silence, at, [
        [1, at < 4_500 ? at : 4],
        [2, 7],
      ]),
      [],
    );
  }
  assert.deepEqual(
    look(silence, 9_000, [
      [1, 4],
      [2, 7],
    ]),
    [2],
  );
  assert.deepEqual(
    look(silence, 9_100, [
      [1, 4],
      [2, 8],
    ]),
    [],
    'it has moved',
  );
});

test('a while in which nobody could look counts for nobody', () => {
  const silence = new SilenceDetector(9_000);
  for (let at = 0; at <= 8_000; at += 1_000) assert.deepEqual(look(silence, at, [[1, 7]]), []);
  // The server was away.
  for (let at = 14_000; at < 23_000; at += 1_000) {
    assert.deepEqual(look(silence, at, [[1, 7]]), [], String(at));
  }
  assert.deepEqual(look(silence, 23_000, [[1, 7]]), [1]);
});

test('of a shorter while in which nobody could look three seconds count', () => {
  const silence = new SilenceDetector(9_000);
  assert.deepEqual(look(silence, 0, [[1, 7]]), []);
  for (let at = 5_900; at < 11_900; at += 1_000) {
    assert.deepEqual(look(silence, at, [[1, 7]]), [], String(at));
  }
  assert.deepEqual(look(silence, 11_900, [[1, 7]]), [1]);
});

test('a server on which each heartbeat takes long hides no dead one, and makes none', () => {
  const silence = new SilenceDetector(9_000);
  const seen = (at: number) =>
    [
      [1, 7],
      [2, at],
    ] as const;
  for (const at of [0, 4_000, 8_000]) assert.deepEqual(look(silence, at, seen(at)), []);
  assert.deepEqual(look(silence, 12_000, seen(12_000)), [1]);
});

test('who begins anew is watched from then on', () => {
  const silence = new SilenceDetector(9_000);
  for (let at = 0; at <= 9_000; at += 1_000) look(silence, at, [[1, 7]]);
  assert.deepEqual(look(silence, 10_000, [[2, 7]]), []);
});

async function join(marks: Marks): Promise<number> {
  const joined = await joinInstances(marks.client, {
    version: '1',
    self: { ...goneProcess, boot: null },
    now: Date.now,
  });
  assert.ok(joined.kind === 'joined');
  return joined.id;
}

postgresTest('only who has not moved since is declared dead', async () => {
  await using marks = await Marks.open();
  const [one, other] = [await join(marks), await join(marks)];
  await marks.client.query('UPDATE svc.instance SET grp = 5');
  const { text, values } = declareDead([
    { id: one, grp: 5 },
    { id: other, grp: 4 },
  ]);
  await marks.client.query(text, [...values]);
  assert.equal((await marks.instance(one))['dead'], true);
  assert.equal((await marks.instance(other))['dead'], false);
});

postgresTest('nobody waits for the batch of one that is thought dead', async () => {
  await using marks = await Marks.open();
  const [one, other] = [await join(marks), await join(marks)];
  const flying = await marks.another();
  await flying.query('BEGIN');
  await flying.query('UPDATE svc.instance SET grp = grp + 1 WHERE id = $1', [one]);
  const { text, values } = declareDead([one, other].map((id) => ({ id, grp: 0 })));
  await marks.client.query(text, [...values]);
  await flying.query('COMMIT');
  assert.equal((await marks.instance(one))['dead'], false);
  assert.equal((await marks.instance(other))['dead'], true);
});
