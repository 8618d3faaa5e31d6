import assert from 'node:assert/strict';
import type { TurnRow } from '../../../src/domain/conversation.ts';
import { failure } from '../../../src/domain/failure.ts';
import {
  accept,
  answer,
  durably,
  effects,
  exchange,
  hook,
  oneIn,
  other,
  promise,
  said,
  takeIn,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const hourMs = 3_600_000;

/** The memories of an earlier session, and the end of a session. */
export const recallCases: readonly LedgerCase[] = [
  promise('nothing is recalled where nothing was said before', async (it) => {
    await accept(it, said('ann', '/recall'));
    assert.deepEqual(await it.ledger.recall(await oneIn(it), 5), []);
  }),
  durably('the last turns of the session before are recalled, oldest first', async (it) => {
    for (const n of [1, 2, 3]) await exchange(it, 'ann', `q${n}`, `a${n}`);
    await exchange(it, 'bob', 'other', 'words');
    await newSession(it);
    await accept(it, said('ann', '/recall'));
    const claim = await oneIn(it);
    const recalled = await it.ledger.recall(claim, 2);
    assert.deepEqual(
      recalled.map(({ text, reply }) => [text, reply]),
      [
        ['q2', 'a2'],
        ['q3', 'a3'],
      ],
    );
    assert.equal((await it.ledger.recall(claim, 50)).length, 3);
    await answer(it, claim);
    assert.deepEqual(await it.ledger.recall(claim, 2), [], 'only while the claim holds');
  }),
  durably(
    'of another channel nothing is recalled, though its conversation id is the same',
    async (it) => {
      for (const who of ['ann', 'bob']) {
        await accept(it, said(who, 'elsewhere', { channel: other }));
        await answer(it, await oneIn(it, other), 'b');
      }
      await exchange(it, 'ann', 'one', 'a');
      await newSession(it);
      await accept(it, said('ann', '/recall'), said('bob', '/recall'));
      const [ann, bob] = await takeIn(it, 2);
      assert.deepEqual(await textsOf(it.ledger.recall(ann!, 5)), ['one']);
      assert.deepEqual(await textsOf(it.ledger.recall(bob!, 5)), []);
    },
  ),
  durably('the newest session in which something was said is recalled', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    await newSession(it);
    await newSession(it);
    await accept(it, said('ann', '/recall'));
    const claim = await oneIn(it);
    assert.deepEqual(await textsOf(it.ledger.recall(claim, 5)), ['one']);
    await answer(it, claim, 'b');
    await accept(it, said('ann', '/recall'));
    const next = await oneIn(it);
    assert.deepEqual(await textsOf(it.ledger.recall(next, 5)), ['/recall'], 'also the active one');
  }),
  durably('earlier turns are those of all sessions that were accepted by then', async (it) => {
    await exchange(it, 'ann', 'q1', 'a1');
    await exchange(it, 'bob', 'other', 'words');
    await newSession(it);
    await accept(it, said('ann', '/recall'));
    const recalling = await oneIn(it);
    const imported = { turn: null, imported: 'quoted: q1, a1' };
    await it.ledger.complete(recalling, effects(recalling, ['done'], imported));
    await exchange(it, 'ann', 'q2', 'a2');
    it.shiftClock(hourMs);
    await exchange(it, 'ann', 'q3', 'a3');
    await accept(it, said('ann', 'and this?'));
    const claim = await oneIn(it);
    const earlier = async (at: number, n = 9) => {
      const found = await it.ledger.earlier(claim, at, n);
      return found.kind === 'kept' ? found.turns.map(({ text, reply }) => [text, reply]) : found;
    };
    const now = claim.message.acceptedAt;
    const [q1, q2, q3] = [1, 2, 3].map((n) => [`q${n}`, `a${n}`]);
    assert.deepEqual(await earlier(now), [q1, q2, q3]);
    assert.deepEqual(await earlier(now, 2), [q2, q3]);
    assert.deepEqual(await earlier(now - hourMs / 2), [q1, q2]);
    assert.deepEqual(await earlier(0), []);
    await answer(it, claim);
    assert.deepEqual(await earlier(now), [], 'only while the claim holds');
  }),
  durably('the brain of an unanswered turn is known, until the turn is deleted', async (it) => {
    const asked = async (text: string, brain: string, reply: string | null) => {
      await accept(it, said('ann', text));
      const claim = await oneIn(it);
      const { trace, turn, ...rest } = effects(claim, reply === null ? [] : [reply]);
      const ended = { ...rest, turn, trace: { ...trace!, brain } };
      assert.equal(await it.ledger.complete(claim, ended), true);
      it.shiftClock(1);
      return claim.message.acceptedAt;
    };
    const first = await asked('one', 'coder \0 \uE000', null);
    const answered = await asked('two', 'main', 'a');
    await newSession(it);
    const last = await asked('three', 'main', null);
    await exchange(it, 'bob', 'other', 'words');
    await it.reopen();
    await accept(it, said('ann', '/retry'));
    const claim = await oneIn(it);
    const brainAt = (at: number) => it.ledger.brainOfTurn(claim, at);
    assert.equal(await brainAt(first), 'coder \0 \uE000');
    assert.equal(await brainAt(last), 'main');
    assert.equal(await brainAt(answered), null, 'it has an answer');
    assert.equal(await brainAt(first - 1), null);
    await answer(it, claim);
    assert.equal(await brainAt(first), null, 'only while the claim holds');
    const { conversation } = said('ann', '');
    await it.ledger.forget({ kind: 'conversation', channel: hook, conversation });
    await accept(it, said('ann', '/retry'));
    assert.equal(await it.ledger.brainOfTurn(await oneIn(it), first), null);
  }),
  durably('a message that died and came back has the brain that asked it last', async (it) => {
    await accept(it, said('ann', 'one'));
    const dying = await oneIn(it);
    await it.ledger.deadLetter(dying, failure('fault'), effects(dying, []));
    it.shiftClock(hourMs);
    assert.equal(await it.ledger.replay(dying.message.id), 'done');
    const again = await oneIn(it);
    const { trace, ...rest } = effects(again, []);
    await it.ledger.complete(again, { ...rest, trace: { ...trace!, brain: 'coder' } });
    await accept(it, said('ann', '/retry'));
    const claim = await oneIn(it);
    assert.equal(await it.ledger.brainOfTurn(claim, again.message.acceptedAt), 'coder');
    assert.equal(await it.ledger.brainOfTurn(claim, dying.message.acceptedAt), null);
  }),
  promise('where no turns are kept it is known whether any was private', async (it) => {
    for (const [who, sensitivity] of [
      ['ann', 'private'],
      ['bob', 'public'],
    ] as const) {
      await accept(it, said(who, 'one', { sensitivity }));
      const first = await oneIn(it);
      await answer(it, first, 'a');
      await accept(it, said(who, 'two', { sensitivity: 'public' }));
      const claim = await oneIn(it);
      const found = await it.ledger.earlier(claim, claim.message.acceptedAt, 9);
      const labels = found.kind === 'kept' ? found.turns : [found];
      assert.deepEqual(
        labels.map((one) => one.sensitivity),
        [sensitivity],
      );
      await answer(it, claim, 'b');
    }
  }),
  promise('where no turns are kept, one private part makes an album private', async (it) => {
    const gather = { kind: 'album', key: 'a', ms: 10_000 } as const;
    const isPrivate = { sensitivity: 'private' } as const;
    await accept(it, said('ann', 'one', { gather }), said('ann', 'two', { gather, ...isPrivate }));
    await accept(it, said('ann', 'three'));
    const claim = await oneIn(it);
    assert.equal(claim.message.text, 'one\ntwo');
    await it.ledger.complete(claim, effects(claim, [], { turn: null }));
    const later = await oneIn(it);
    const found = await it.ledger.earlier(later, later.message.acceptedAt, 9);
    if (found.kind === 'kept') assert.deepEqual(found.turns, []);
    else assert.equal(found.sensitivity, 'private');
  }),
  durably('a quoted block is what its session begins with, also after a restart', async (it) => {
    await exchange(it, 'ann', 'one', 'a');
    await newSession(it);
    await accept(it, said('ann', '/recall'), said('ann', 'next'));
    const recalling = await oneIn(it);
    const imported = { turn: null, imported: 'quoted: one, a' };
    await it.ledger.complete(recalling, effects(recalling, ['done'], imported));
    await answer(it, await oneIn(it), 'b');
    const expected = ['quoted: one, a', null, 'next', 'b'];
    assert.deepEqual(await history(it), { texts: expected, empty: false });
    await it.reopen();
    assert.deepEqual(await history(it), { texts: [...expected, 'next', null], empty: false });
  }),
  durably('a quoted block is not recalled itself', async (it) => {
    await accept(it, said('ann', '/recall'));
    const claim = await oneIn(it);
    await it.ledger.complete(claim, effects(claim, [], { turn: null, imported: 'quoted' }));
    await exchange(it, 'ann', 'one', 'a');
    await newSession(it);
    await accept(it, said('ann', '/recall'));
    const recalled = await it.ledger.recall(await oneIn(it), 5);
    assert.deepEqual(
      recalled.map(({ text }) => text),
      ['one'],
    );
  }),
  durably('a session is empty until it holds a turn, also after a restart', async (it) => {
    const isEmpty = async (): Promise<boolean> => (await history(it, null)).empty;
    assert.equal(await isEmpty(), true);
    await it.reopen();
    assert.equal(await isEmpty(), true);
    await exchange(it, 'ann', 'x'.repeat(20_000), 'a');
    assert.equal(await isEmpty(), false, 'it may be too long for the window');
    await it.reopen();
    assert.equal(await isEmpty(), false);
    await newSession(it);
    assert.equal(await isEmpty(), true);
    await it.reopen();
    assert.equal(await isEmpty(), true);
    const claim = await accept(it, said('ann', '/recall')).then(() => oneIn(it));
    await it.ledger.complete(claim, effects(claim, [], { turn: null, imported: 'quoted' }));
    assert.equal(await isEmpty(), false);
    await it.reopen();
    assert.equal(await isEmpty(), false);
  }),
  durably('the time before is that of a turn or a command, also after a restart', async (it) => {
    await newSession(it);
    it.shiftClock(hourMs);
    await exchange(it, 'ann', 'one', 'a');
    const turnAt = await previousAt(it);
    assert.ok(turnAt! >= Date.now() + hourMs - 60_000, 'the turn came an hour after the command');
    it.shiftClock(hourMs);
    await newSession(it);
    const commandAt = await previousAt(it);
    assert.ok(commandAt! >= Date.now() + 2 * hourMs - 60_000, 'the command came an hour later');
  }),
  durably('a clock that was set back moves no time back, also after a restart', async (it) => {
    for (const lastsTurn of [true, false]) {
      const who = `ann ${lastsTurn}`;
      await accept(it, said(who, 'one'));
      const first = await oneIn(it);
      await answer(it, first);
      const at = first.message.acceptedAt;
      it.shiftClock(-2 * hourMs);
      await accept(it, said(who, 'two'));
      const claim = await oneIn(it);
      assert.ok(claim.message.acceptedAt < at);
      await it.ledger.complete(claim, effects(claim, [], lastsTurn ? {} : { turn: null }));
      assert.equal(await previousAt(it, who), at);
      it.shiftClock(2 * hourMs);
    }
  }),
];

/** When the message before the next one was accepted; the same in work and after a restart. */
async function previousAt(it: Bench, who = 'ann'): Promise<number | null> {
  await accept(it, said(who, 'next'));
  const claim = await oneIn(it);
  await it.ledger.release(claim);
  await it.reopen();
  const again = await oneIn(it);
  assert.equal(again.memory.previousAt, claim.memory.previousAt);
  await it.ledger.complete(again, effects(again, [], { turn: null }));
  return again.memory.previousAt;
}

/** A message that begins a new session and leaves no turn in it. */
async function newSession(it: Bench): Promise<void> {
  await accept(it, said('ann', '/new'));
  const claim = await oneIn(it);
  const session = { reason: 'command', at: Date.now() } as const;
  await it.ledger.complete(claim, effects(claim, [], { turn: null, session }));
}

/** The context of ann's next message, which gets no reply. `turn` null: it leaves no turn. */
async function history(it: Bench, turn?: null) {
  await accept(it, said('ann', 'next'));
  const claim = await oneIn(it);
  const { turns, empty } = claim.memory;
  await it.ledger.complete(claim, effects(claim, [], turn === null ? { turn } : {}));
  return { texts: turns.flatMap(({ text, reply }) => [text, reply]), empty };
}

async function textsOf(rows: Promise<readonly TurnRow[]>): Promise<readonly string[]> {
  return (await rows).map(({ text }) => text);
}
