import assert from 'node:assert/strict';
import type { CursorMove } from '../../../src/ledger/ledger.ts';
import {
  accept,
  durably,
  hook,
  noneIn,
  oneIn,
  promise,
  said,
  type Bench,
  type LedgerCase,
} from './kit.ts';

/** A move of the cursor of these cases. */
const to = (value: string, expected?: string | null): CursorMove => {
  const move = { channel: hook, name: 'offset', value };
  return expected === undefined ? move : { ...move, expected };
};

const offset = (it: Bench): Promise<string | null> => it.ledger.cursor(hook, 'offset');

/** Accepts a batch without messages. @returns whether it was accepted, or why not */
async function moved(it: Bench, ...moves: readonly CursorMove[]): Promise<string> {
  const acceptance = await it.ledger.accept([], ...moves);
  return acceptance.kind === 'accepted' ? 'accepted' : acceptance.reason;
}

/** The expected value of a move. Its caller has read that value before. */
export const cursorCases: readonly LedgerCase[] = [
  promise('a cursor moves from where it is expected, and from nowhere else', async (it) => {
    assert.equal(await offset(it), null);
    assert.equal(await moved(it, to('1', 'nowhere')), 'conflict');
    assert.equal(await offset(it), null);
    assert.equal(await moved(it, to('1', null)), 'accepted');
    assert.equal(await moved(it, to('2', null)), 'conflict');
    assert.equal(await moved(it, to('2', '1')), 'accepted');
    assert.equal(await offset(it), '2');
    assert.equal(await moved(it, to('0')), 'accepted', 'a move need not expect anything');
    assert.equal(await offset(it), '0');
  }),
  promise('nothing is written of a batch whose cursor stands elsewhere', async (it) => {
    await moved(it, to('1'));
    assert.equal(await offset(it), '1');
    const { inboxWaiting, bytesHeld } = it.ledger.gauges();
    const room = it.ledger.room();
    const other: CursorMove = { channel: hook, name: 'people', value: 'ann' };
    const batch = [said('ann', 'hi', { dedupeKey: 'k' })];
    const refusal = await it.ledger.accept(batch, other, to('2', '0'));
    assert.deepEqual(refusal, { kind: 'refused', reason: 'conflict', retryAfterMs: 0 });
    await noneIn(it);
    assert.equal(await it.ledger.cursor(hook, 'people'), null);
    assert.deepEqual(it.ledger.room(), room);
    const after = it.ledger.gauges();
    assert.deepEqual([after.inboxWaiting, after.bytesHeld], [inboxWaiting, bytesHeld]);
    const [receipt] = await accept(it, ...batch);
    assert.equal(receipt!.duplicate, false, 'its key is not known');
    assert.equal((await oneIn(it)).message.text, 'hi');
  }),
  promise('while a move is under way, it is where the next one is to expect it', async (it) => {
    assert.equal(await offset(it), null);
    const first = moved(it, to('1', null));
    assert.equal(await offset(it), '1');
    const rest = [moved(it, to('2', '1')), moved(it, to('x', null)), moved(it, to('y', '1'))];
    assert.equal(await offset(it), '2');
    assert.equal(await first, 'accepted');
    assert.deepEqual(await Promise.all(rest), ['accepted', 'conflict', 'conflict']);
    assert.equal(await offset(it), '2');
  }),
  durably('a move expects after a restart what stood there before', async (it) => {
    await moved(it, to('1'));
    await it.reopen();
    assert.equal(await offset(it), '1');
    assert.equal(await moved(it, to('2', null)), 'conflict');
    assert.equal(await moved(it, to('2', '1')), 'accepted');
    await it.reopen();
    assert.equal(await offset(it), '2');
  }),
];
