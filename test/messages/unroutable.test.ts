/** Seven days without a channel: messages and replies that wait for it die. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { steadyNow, type Clock } from '../../src/lib/clock.ts';
import { failure } from '../../src/domain/failure.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import type { Ledger, LedgerNews } from '../../src/ledger/ledger.ts';
import { Crashes } from '../fake/crashes.ts';
import {
  accept,
  answer,
  hook,
  ids,
  oneIn,
  oneOut,
  other,
  said,
  takeIn,
  until,
  type Bench,
} from '../contract/ledger/kit.ts';

/** Longer than the work meanwhile, which is one commit. */
const waitsMs = 1_000;
const dayMs = 86_400_000;
type World = AsyncDisposable & Bench & { clock: { aheadMs: number }; heard: string[] };
type Listening = Clock & { news: LedgerNews };

const backends: Record<string, (listening: Listening) => Promise<AsyncDisposable & Bench>> = {
  async memory(listening) {
    const ledger = createMemoryLedger({ ids, ...listening });
    return {
      ledger,
      reopen: () => Promise.reject(),
      [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
    };
  },
  async SQLite(listening) {
    const crashes = await Crashes.make(listening);
    const it = await crashes.open();
    return { ...it, [Symbol.asyncDispose]: () => crashes[Symbol.asyncDispose]() };
  },
};

async function open(backend: string): Promise<World> {
  const clock = { aheadMs: 0 };
  const heard: string[] = [];
  const news: LedgerNews = {
    unroutable: ({ channel, rows, since, untilAt }) =>
      heard.push(`${channel} ${rows} ${(untilAt - since) / dayMs}`),
    buried: (e) => heard.push(`${e.box} ${e.failure.kind}`),
  };
  const it = await backends[backend]!({
    now: () => Date.now() + clock.aheadMs,
    steady: steadyNow,
    news,
  });
  return { ...it, clock, heard };
}

const dead = ({ ledger }: { readonly ledger: Ledger }): number => ledger.gauges().deadLetters;

for (const backend of Object.keys(backends)) {
  suite(`without its channel, in the ${backend} form`, { concurrency: 4 }, () => {
    test('a row waits six days and is a dead letter after seven, without a word', async () => {
      await using it = await open(backend);
      await accept(it, said('ann', 'answered'), said('ann', 'waits'), said('bob', 'waits too'));
      await answer(it, (await takeIn(it, 1))[0]!, 'part one', 'part two');
      await accept(it, said('cid', 'is served', { channel: other }));
      it.ledger.serve([other]);
      it.clock.aheadMs = 6.9 * dayMs;
      it.ledger.serve([other]);
      assert.equal(it.ledger.gauges().unroutable, 4);
      it.clock.aheadMs = 7.1 * dayMs;
      it.ledger.serve([other]);
      await until('they are dead letters', () => it.ledger.gauges().unroutable === 0);
      assert.equal(dead(it), 4);
      assert.deepEqual(it.heard.sort(), [
        'in unroutable',
        'in unroutable',
        'out unroutable',
        'out unroutable',
        'webhook 4 7',
      ]);
      assert.equal((await oneIn(it, other)).message.text, 'is served');
      assert.equal(it.ledger.gauges().outboxWaiting, 0, 'nothing is said');
    });

    test('as many as there are go, and no more when it is served again meanwhile', async () => {
      await using it = await open(backend);
      await accept(it, ...Array.from({ length: 1_000 }, (_, i) => said(`c${i}`, 'hi')));
      it.ledger.serve([]);
      it.clock.aheadMs = 8 * dayMs;
      it.ledger.serve([]);
      await until('some are dead letters', () => dead(it) > 0);
      it.ledger.serve([hook]);
      const claims = await takeIn(it, 1_000);
      await until('all are accounted for', () => dead(it) + claims.length === 1_000);
      assert.ok(claims.length > 0, `${claims.length} are left`);
    });

    test('a reply that waits for its next try becomes a dead letter when it comes', async () => {
      await using it = await open(backend);
      it.clock.aheadMs = -8 * dayMs;
      await accept(it, said('ann', 'hi'));
      await answer(it, await oneIn(it), 're: hi');
      it.ledger.serve([]);
      it.clock.aheadMs = 0;
      const how = { park: true, possibleDuplicate: false };
      await it.ledger.defer(await oneOut(it), Date.now() + waitsMs, failure('server_error'), how);
      it.ledger.serve([]);
      assert.equal(it.ledger.gauges().unroutable, 1);
      await until('it is a dead letter', () => {
        it.ledger.serve([]);
        return dead(it) === 1;
      });
    });
  });
}

test('a suspected message of a channel that is gone is given up like any other row', async () => {
  let aheadMs = 0;
  await using crashes = await Crashes.make({ now: () => Date.now() + aheadMs });
  let it = await crashes.open();
  await accept(it, said('ann', 'one'), said('ann', 'two'));
  for (let ends = 0; ends < 2; ends++) {
    await takeIn(it, 10);
    it = await crashes.crash();
  }
  it.ledger.serve([other]);
  assert.deepEqual([it.ledger.gauges().suspects, it.ledger.gauges().unroutable], [1, 2]);
  aheadMs = 8 * dayMs;
  it.ledger.serve([other]);
  await until('both are dead letters', () => dead(it) === 2);
  assert.equal(it.ledger.gauges().suspects, 0);
});
