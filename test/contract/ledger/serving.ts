/** Channels that are served, and channels that are not. */
import assert from 'node:assert/strict';
import {
  accept,
  answer,
  deliverAll,
  durably,
  hook,
  oneIn,
  other,
  promise,
  said,
  takeIn,
  textsIn,
  type Bench,
  type LedgerCase,
} from './kit.ts';
import { patienceMs } from '../../support/waiting.ts';

const oldest = ({ ledger }: Bench): number => ledger.backlog()[0]!.oldestAt;

export const servingCases: readonly LedgerCase[] = [
  promise('nothing is unroutable before somebody says what is served', async (it) => {
    await accept(it, said('ann', 'hi'));
    assert.equal(it.ledger.gauges().unroutable, 0);
    assert.equal(it.ledger.backlog()[0]!.unroutableSince, null);
  }),
  promise('what waits for a channel that is not served is counted, and no other', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    await accept(it, said('bob', 'three', { channel: other }));
    await answer(it, await oneIn(it, other), 're: three', 'and more');
    it.ledger.serve([hook]);
    assert.equal(it.ledger.gauges().unroutable, 2);
    const since = (channel: string): number | null =>
      it.ledger.backlog().find((row) => row.channel === channel)!.unroutableSince;
    assert.equal(since(hook), null);
    assert.ok(Math.abs(Date.now() - since(other)!) < patienceMs);
    it.ledger.serve([hook, other]);
    assert.equal(it.ledger.gauges().unroutable, 0);
    assert.equal(since(other), null);
  }),
  promise('it waits as it was, and goes on in order once it is served again', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    it.ledger.serve([other]);
    it.ledger.serve([hook]);
    const one = await oneIn(it);
    assert.equal(one.message.text, 'one');
    await answer(it, one, 're: one');
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['two']);
    assert.deepEqual(await deliverAll(it), ['re: one']);
    assert.equal(it.ledger.gauges().deadLetters, 0);
  }),
  promise('the oldest row of a channel is told, whatever came after it', async (it) => {
    await accept(it, said('ann', 'one'));
    it.shiftClock(60_000);
    await accept(it, said('bob', 'two'), said('ann', 'three'));
    const [one, two] = await takeIn(it, 10);
    assert.equal(oldest(it), one!.message.acceptedAt);
    assert.ok(two!.message.acceptedAt >= one!.message.acceptedAt + 60_000);
    await answer(it, one!);
    assert.equal(oldest(it), two!.message.acceptedAt, 'without a reply nothing is left of it');
    await it.ledger.release(two!);
    assert.equal(oldest(it), two!.message.acceptedAt);
    for (const claim of await takeIn(it, 10)) await answer(it, claim);
    assert.deepEqual(it.ledger.backlog(), []);
  }),
  durably('the oldest row is told after a restart, too', async (it) => {
    await accept(it, said('ann', 'one'));
    it.shiftClock(60_000);
    await accept(it, said('bob', 'two'));
    const before = oldest(it);
    await it.reopen();
    assert.equal(oldest(it), before);
    const [one, two] = await takeIn(it, 10);
    await answer(it, one!, 're: one');
    const [sent] = await it.ledger.claim('out', hook, 1);
    assert.ok(sent?.box === 'out');
    const wanted = Math.min(sent.reply.createdAt, two!.message.acceptedAt);
    assert.equal(oldest(it), wanted);
    await it.reopen();
    assert.equal(oldest(it), wanted);
  }),
  promise('another bot of the same type is another channel', async (it) => {
    await accept(it, said('ann', 'hi', { channel: other }));
    it.ledger.serve([`${other}8` as typeof other]);
    assert.equal(it.ledger.gauges().unroutable, 1);
  }),
  durably('the moment it began survives a restart', async (it) => {
    await accept(it, said('ann', 'hi'));
    it.ledger.serve([other]);
    const since = it.ledger.backlog()[0]!.unroutableSince;
    await it.reopen();
    it.ledger.serve([]);
    assert.equal(it.ledger.backlog()[0]!.unroutableSince, since);
    it.ledger.serve([hook]);
    await it.reopen();
    it.ledger.serve([hook]);
    it.ledger.serve([]);
    assert.ok(it.ledger.backlog()[0]!.unroutableSince! >= since!, 'it begins anew');
  }),
];
