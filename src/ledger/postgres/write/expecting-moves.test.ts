import assert from 'node:assert/strict';
import { turns } from '../../../../test/contract/ledger/kit.ts';
import { seeded } from '../../../../test/chaos/proof.ts';
import { postgresTest } from '../../../../test/fake/postgres.ts';
import { TestInstances, type TestInstance } from '../../../../test/fake/postgres/instances.ts';
import type { ChannelKey } from '../../../domain/ids.ts';
import type { CursorMove } from '../../ledger.ts';
import { toText } from '../server/text.ts';
import { expectingMoves } from './compose.ts';

const channel = 'telegram' as ChannelKey;

type Expecting = CursorMove & { readonly expected: string | null };

const to = (value: string, expected: string | null, name = 'pairing'): Expecting => {
  return { channel, name, value, expected };
};

type End = 'landed' | 'refused' | 'conflict' | 'lost';

/** Moves cursors, and sets a cursor without an expected value in the same batch. */
function move({ batches }: TestInstance, ...moves: readonly Expecting[]): Promise<End> {
  const noted = moves.map(({ value }) => toText(value)).join();
  batches.add({ kind: 'cursor', channel, name: `note ${noted}`, value: noted });
  batches.add(expectingMoves(moves));
  return new Promise((resolve) => {
    batches.flushAlone({
      written: (landed) => resolve(landed === null ? 'lost' : 'landed'),
      refused: () => resolve('refused'),
      conflicted: () => resolve('conflict'),
    });
  });
}

async function cursors({ client }: TestInstances): Promise<Readonly<Record<string, string>>> {
  const { rows } = await client.query<{ name: string; value: string }>(
    "SELECT name, value FROM svc.cursor WHERE channel <> 'svc' ORDER BY name",
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

postgresTest('of several instances that move a cursor from one place one does', async () => {
  await using all = await TestInstances.open();
  const three = await all.beginAll(3);
  let at: string | null = null;
  for (let round = 0; round < 20; round++) {
    const ends = await Promise.all(three.map((one) => move(one, to(`${round} ${one.id}`, at))));
    assert.deepEqual(ends.toSorted(), ['conflict', 'conflict', 'landed']);
    at = `${round} ${three[ends.indexOf('landed')]!.id}`;
    assert.equal((await cursors(all))['pairing'], at);
  }
});

postgresTest('nothing is written of what conflicts, and all of what was with it', async () => {
  await using all = await TestInstances.open();
  const one = await all.begin();
  const { batches } = one;
  const beside = (name: string): Promise<boolean> => {
    batches.add({ kind: 'cursor', channel, name, value: '' });
    return batches.written(() => {});
  };
  const ends = await Promise.all([
    beside('a'),
    move(one, to('1', null)),
    beside('b'),
    move(one, to('x', null), to('y', null, 'other')),
    move(one, to('2', '1'), to('3', null, 'third')),
    beside('c'),
    move(one, to('4', '1')),
    move(one, to('5', '2')),
  ]);
  const wanted = [true, 'landed', true, 'conflict', 'landed', true, 'conflict', 'landed'];
  assert.deepEqual(ends, wanted);
  assert.deepEqual(await cursors(all), {
    a: '',
    b: '',
    c: '',
    'note 1': '1',
    'note 2,3': '2,3',
    'note 5': '5',
    pairing: '5',
    third: '3',
  });
  assert.equal(one.broken(), null);
});

postgresTest('what a cursor holds is compared as it is, whatever it is', async () => {
  await using all = await TestInstances.open();
  const one = await all.begin();
  const texts = ['', 'a\0b', '\ud800', '\ue000', '{"a":"ä"}', "'"];
  let at: string | null = null;
  for (const text of texts) {
    assert.equal(await move(one, to(text, `${at}x`)), 'conflict');
    assert.equal(await move(one, to(text, at)), 'landed');
    at = text;
  }
});

postgresTest('cut at any moment, each move from where it is expected is made once', async () => {
  const seed = Math.floor(Math.random() * 1e6);
  const random = seeded(seed);
  await using all = await TestInstances.open();
  const two = await all.beginAll(2);
  let [done, cuts] = [0, 0];
  let next = Promise.withResolvers<void>();
  const count = async (one: TestInstance): Promise<void> => {
    for (let made = 0; made < 40;) {
      const at = (await cursors(all))['pairing'] ?? null;
      const end = await move(one, to(String(Number(at) + 1), at));
      assert.match(end, /landed|conflict/);
      if (end === 'landed') [made, done] = [made + 1, done + 1];
      next.resolve();
    }
  };
  const counting = Promise.all(two.map(count));
  const over = new AbortController();
  void counting.finally(() => {
    over.abort();
    next.resolve();
  });
  while (!over.signal.aborted) {
    await next.promise;
    next = Promise.withResolvers();
    await turns(random() * 300);
    two[cuts++ % 2]!.way.cut();
  }
  await counting;
  assert.equal((await cursors(all))['pairing'], String(done), `seed ${seed}`);
  assert.equal(done, 80);
});
