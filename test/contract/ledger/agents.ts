import assert from 'node:assert/strict';
import type { ChannelKey, ConversationId } from '../../../src/domain/ids.ts';
import type { Note, NoteMove, NoteScope } from '../../../src/domain/note.ts';
import type { BegunCall, CallEnding, ToolUse } from '../../../src/domain/tool-use.ts';
import { failure } from '../../../src/domain/failure.ts';
import type { InClaim } from '../../../src/ledger/ledger.ts';
import {
  accept,
  answer,
  durably,
  effects,
  hook,
  oneIn,
  other,
  promise,
  said,
  until,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const here: NoteScope = { kind: 'conversation' };
const ofMain = { kind: 'brain', brain: 'main' } as const;
const add = (text: string, scope: NoteScope = here, notesMax = 10): NoteMove => {
  return { kind: 'add', scope, note: { at: 1_000, text, sensitivity: 'public' }, notesMax };
};
const texts = (notes: readonly Note[]): string[] => notes.map(({ text }) => text);
const talk = (conversation: string, channel: ChannelKey = hook) => {
  return { channel, conversation: conversation as ConversationId };
};

/** The notes that an agent keeps for later turns. */
const noteCases: readonly LedgerCase[] = [
  promise('nothing is noted at first', async (it) => {
    const claim = await turn(it, 'ann');
    assert.deepEqual(await it.ledger.notes(claim, here), []);
    assert.deepEqual(await it.ledger.notes(claim, ofMain), []);
    assert.equal(await it.ledger.clearNotes({ kind: 'conversation', ...talk('ann') }), 0);
    assert.equal(await it.ledger.clearNotes(ofMain), 0);
  }),
  durably('notes of a conversation come with its next turns, oldest first', async (it) => {
    await noted(it, 'ann', add('one'), add('two'));
    await noted(it, 'ann', add('three'));
    await noted(it, 'bob', add('of bob'));
    for (const again of [false, true]) {
      if (again) await it.reopen();
      assert.deepEqual(await seen(it, 'ann'), ['one', 'two', 'three']);
      assert.deepEqual(await seen(it, 'bob'), ['of bob']);
      assert.deepEqual(await seen(it, 'ann', here, other), []);
    }
  }),
  durably('notes go on after a restart where nothing but notes was written last', async (it) => {
    for (const text of ['one', 'two']) {
      const claim = await turn(it, 'ann');
      const notes = [add(text), add(`${text} of all`, ofMain)];
      await it.ledger.complete(claim, { ...effects(claim, []), notes });
      await it.reopen();
    }
    assert.deepEqual(await seen(it, 'ann'), ['one', 'two']);
    assert.deepEqual(await seen(it, 'ann', ofMain), ['one of all', 'two of all']);
  }),
  durably('a note is there only once its turn has ended', async (it) => {
    const claim = await turn(it, 'ann');
    assert.deepEqual(await it.ledger.notes(claim, here), []);
    await it.ledger.release(claim);
    assert.deepEqual(await it.ledger.notes(claim, here), [], 'only while the claim holds');
    const again = await oneIn(it);
    await complete(it, again, [add('kept')]);
    assert.deepEqual(await seen(it, 'ann'), ['kept']);
  }),
  durably('with one too many the oldest go', async (it) => {
    for (const text of ['1', '2', '3']) await noted(it, 'ann', add(text, here, 2));
    assert.deepEqual(await seen(it, 'ann'), ['2', '3']);
    await noted(it, 'ann', ...['4', '5', '6', '7'].map((text) => add(text, here, 3)));
    assert.deepEqual(await seen(it, 'ann'), ['5', '6', '7']);
    await noted(it, 'ann', add('8', here, 1));
    assert.deepEqual(await seen(it, 'ann'), ['8']);
    for (const text of ['1', '2', '3']) await noted(it, 'ann', add(text, ofMain, 2));
    assert.deepEqual(await seen(it, 'ann', ofMain), ['2', '3']);
    assert.deepEqual(await seen(it, 'ann'), ['8'], 'of the one scope only');
  }),
  durably('each conversation has its share of the notes of a brain', async (it) => {
    for (const text of ['a', 'b']) await noted(it, 'ann', add(text, ofMain, 4));
    for (let at = 1; at <= 9; at++) await noted(it, 'bob', add(`bob ${at}`, ofMain, 4));
    assert.deepEqual(await seen(it, 'cid', ofMain), ['a', 'b', 'bob 8', 'bob 9']);
    for (const text of ['c', 'd', 'e']) await noted(it, 'cid', add(text, ofMain, 4));
    assert.deepEqual(await seen(it, 'cid', ofMain), ['b', 'bob 9', 'd', 'e']);
    await noted(it, 'ann', add('z', ofMain, 2));
    assert.deepEqual(await seen(it, 'cid', ofMain), ['e', 'z']);
  }),
  durably('a note of a brain is seen by the next turn of every conversation', async (it) => {
    assert.deepEqual(await seen(it, 'bob', ofMain), []);
    await noted(it, 'ann', add('of all', ofMain), add('of ann'));
    assert.deepEqual(await seen(it, 'bob', ofMain), ['of all']);
    assert.deepEqual(await seen(it, 'bob', ofMain, other), ['of all']);
    await noted(it, 'bob', add('more', ofMain));
    assert.deepEqual(await seen(it, 'ann', ofMain), ['of all', 'more']);
    assert.deepEqual(await seen(it, 'ann', { kind: 'brain', brain: 'other' }), []);
    assert.deepEqual(await seen(it, 'ann'), ['of ann']);
  }),
  durably('notes stay over a cut, and clear takes those of its scope', async (it) => {
    await noted(it, 'ann', add('mine'), add('all', ofMain));
    const claim = await turn(it, 'ann');
    const session = { reason: 'command', at: Date.now() } as const;
    await it.ledger.complete(claim, effects(claim, ['new'], { turn: null, session }));
    assert.deepEqual(await seen(it, 'ann'), ['mine']);
    await noted(it, 'ann', add('gone'), { kind: 'clear', scope: here }, add('after'));
    assert.deepEqual(await seen(it, 'ann'), ['after']);
    assert.deepEqual(await seen(it, 'ann', ofMain), ['all']);
    await noted(it, 'bob', { kind: 'clear', scope: ofMain });
    assert.deepEqual(await seen(it, 'ann', ofMain), []);
    assert.deepEqual(await seen(it, 'ann'), ['after']);
  }),
  durably('a person clears the notes of one scope, and later ones stay', async (it) => {
    await noted(it, 'ann', add('a'), add('b'), add('all', ofMain));
    await noted(it, 'bob', add('of bob'));
    const atWork = await turn(it, 'ann');
    assert.equal(await it.ledger.clearNotes({ kind: 'conversation', ...talk('ann') }), 2);
    await complete(it, atWork, [add('later')]);
    assert.deepEqual(await seen(it, 'ann'), ['later']);
    assert.equal(await it.ledger.clearNotes(ofMain), 1);
    assert.deepEqual(await seen(it, 'ann', ofMain), []);
    assert.deepEqual(await seen(it, 'bob'), ['of bob']);
  }),
  durably('notes go with the conversation in which they were made', async (it) => {
    await noted(it, 'ann', add('mine'), add('of ann, for all', ofMain));
    await noted(it, 'bob', add('of bob'), add('of bob, for all', ofMain));
    await it.ledger.forget({ kind: 'conversation', ...talk('ann') });
    for (const again of [false, true]) {
      if (again) await it.reopen();
      assert.deepEqual(await seen(it, 'ann'), []);
      assert.deepEqual(await seen(it, 'bob', ofMain), ['of bob, for all']);
    }
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'sender of bob' });
    assert.deepEqual(await seen(it, 'bob'), []);
    assert.deepEqual(await seen(it, 'bob', ofMain), []);
  }),
  durably('a note of a turn that was forgotten at work is not kept', async (it) => {
    const claim = await turn(it, 'ann');
    await it.ledger.forget({ kind: 'conversation', ...talk('ann') });
    const more = { notes: [add('mine'), add('all', ofMain)] };
    assert.equal(await it.ledger.complete(claim, { ...effects(claim, ['a']), ...more }), false);
    assert.deepEqual(await seen(it, 'bob', ofMain), []);
  }),
];

/** The stored uses of tools. */
const useCases: readonly LedgerCase[] = [
  promise('the last uses of a conversation are told, newest first', async (it) => {
    for (const n of [1, 2, 3]) await used(it, 'ann', n);
    await used(it, 'bob', 9);
    const claim = await turn(it, 'ann');
    const uses = await it.ledger.toolUses(claim, 2);
    assert.deepEqual(
      uses.map(({ ms, tool, outcome }) => [ms, tool, outcome]),
      [
        [3, 'calc', 'done'],
        [2, 'calc', 'done'],
      ],
    );
    assert.equal((await it.ledger.toolUses(claim, 9)).length, 3);
    await answer(it, claim, 'a');
    assert.deepEqual(await it.ledger.toolUses(claim, 2), [], 'only while the claim holds');
  }),
  promise('uses go with their conversation, and with their sender', async (it) => {
    for (const who of ['ann', 'bob', 'cid']) await used(it, who, 1);
    await it.ledger.forget({ kind: 'conversation', ...talk('ann') });
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'sender of bob' });
    for (const [who, left] of [
      ['ann', 0],
      ['bob', 0],
      ['cid', 1],
    ] as const) {
      const claim = await turn(it, who);
      assert.equal((await it.ledger.toolUses(claim, 9)).length, left, who);
      await answer(it, claim, 'a');
    }
  }),
  durably('uses are there after a restart, and new ones come before them', async (it) => {
    await used(it, 'ann', 1);
    await it.reopen();
    await used(it, 'ann', 2);
    const uses = await it.ledger.toolUses(await turn(it, 'ann'), 9);
    assert.deepEqual(
      uses.map(({ ms }) => ms),
      [2, 1],
    );
    assert.equal(uses[0]?.arguments, '{"expression":"2"}');
  }),
];

/** Calls that may not be repeated. */
const callLogCases: readonly LedgerCase[] = [
  promise(
    'each call of one run runs once, whether or not it is the same as one before',
    async (it) => {
      const claim = await turn(it, 'ann');
      for (const place of ['1:0', '1:1', '2:0']) {
        assert.deepEqual(await it.ledger.calls.logCall(claim, begun(claim, place, 'same')), {
          kind: 'run',
        });
      }
      const taken = await it.ledger.calls.logCall(claim, begun(claim, '1:0', 'else'));
      assert.deepEqual(taken, { kind: 'unwritten' }, 'a key is used once');
      assert.deepEqual(
        await it.ledger.calls.earlierCalls(claim),
        [],
        'of this run none is earlier',
      );
    },
  ),
  promise('a turn that was given back and runs again repeats no call', async (it) => {
    const first = await turn(it, 'ann');
    const keys = [0, 1, 2].map((n) => `1:${n}`);
    const answers = keys.map((key) => it.ledger.calls.logCall(first, begun(first, key, key)));
    for (const told of await Promise.all(answers)) assert.deepEqual(told, { kind: 'run' });
    const [one, two, three] = keys.map((key) => `${first.message.id}:${key}`);
    it.ledger.calls.logCallEnd(first, one!, ended('ended before'));
    await it.ledger.release(first);
    it.ledger.calls.logCallEnd(first, two!, ended('ended late'));
    const again = await oneIn(it);
    const told = keys.map((key, n) =>
      it.ledger.calls.logCall(again, begun(again, `${n + 7}:0`, key)),
    );
    assert.deepEqual(await Promise.all(told), [
      { kind: 'done', key: one, ending: ended('ended before') },
      { kind: 'done', key: two, ending: ended('ended late') },
      { kind: 'unknown', key: three },
    ]);
  }),
  promise('a call is known by what it is and not by its place', async (it) => {
    const first = await turn(it, 'ann');
    const key = `${first.message.id}:1:0`;
    await it.ledger.calls.logCall(first, begun(first, '1:0', 'seven euros'));
    await it.ledger.release(first);
    const again = await oneIn(it);
    const [earlier, ...more] = await it.ledger.calls.earlierCalls(again);
    assert.deepEqual([earlier?.key, earlier?.ending, more.length], [key, null, 0]);
    const another = await it.ledger.calls.logCall(again, begun(again, '1:0:2', 'nine euros'));
    assert.deepEqual(another, { kind: 'run' });
    const same = await it.ledger.calls.logCall(again, begun(again, '2:0', 'seven euros'));
    assert.deepEqual(same, { kind: 'unknown', key });
    assert.deepEqual(await it.ledger.calls.earlierCalls(again), []);
    const second = await it.ledger.calls.logCall(again, begun(again, '3:0', 'seven euros'));
    assert.deepEqual(second, { kind: 'run' }, 'one earlier call answers one');
  }),
  promise('a call that ran is in the audit though its turn came to no end', async (it) => {
    const first = await turn(it, 'ann');
    await it.ledger.calls.logCall(first, begun(first, '1:0', 'one'));
    await it.ledger.calls.logCall(first, begun(first, '1:1', 'two'));
    it.ledger.calls.logCallEnd(first, `${first.message.id}:1:1`, ended('204'));
    await it.ledger.release(first);
    const again = await oneIn(it);
    const outcomes = async (claim: InClaim) =>
      (await it.ledger.toolUses(claim, 9)).map(({ key, outcome }) => [key.slice(-3), outcome]);
    await until('the end is told', async () => (await outcomes(again))[0]?.[1] === 'done');
    assert.deepEqual(await outcomes(again), [
      ['1:1', 'done'],
      ['1:0', 'unknown'],
    ]);
    const [use] = await it.ledger.toolUses(again, 1);
    const all = {
      ...effects(again, ['a']),
      toolUses: [{ ...use!, outcome: 'failed' as const, told: null }],
    };
    await it.ledger.complete(again, all);
    const later = await turn(it, 'ann');
    assert.deepEqual(
      await outcomes(later),
      [
        ['1:1', 'failed'],
        ['1:0', 'unknown'],
      ],
      'once each',
    );
  }),
  promise('nothing may run for a claim that is over', async (it) => {
    const claim = await turn(it, 'ann');
    await answer(it, claim, 'a');
    assert.deepEqual(await it.ledger.calls.logCall(claim, begun(claim)), { kind: 'unwritten' });
    assert.deepEqual(await it.ledger.calls.earlierCalls(claim), []);
  }),
  promise('a call whose claim is lost while it is written down may not run', async (it) => {
    const claim = await turn(it, 'ann');
    const asked = it.ledger.calls.logCall(claim, begun(claim));
    await it.ledger.release(claim);
    assert.deepEqual(await asked, { kind: 'unwritten' });
  }),
  durably('what a call came to is known after a restart', async (it) => {
    const claim = await turn(it, 'ann');
    const { id } = claim.message;
    for (const n of [0, 1, 2]) {
      await it.ledger.calls.logCall(claim, begun(claim, `1:${n}`, n === 0 ? 'zero' : 'twice'));
    }
    it.ledger.calls.logCallEnd(claim, `${id}:1:1`, ended('it said 204'));
    await it.reopen();
    const again = await oneIn(it);
    const earlier = await it.ledger.calls.earlierCalls(again);
    assert.deepEqual(
      earlier.map(({ key, tool, arguments: given, ending }) => [key, tool, given, ending?.text]),
      [
        [`${id}:1:0`, 'webhook_call', '{"n":"zero"}', undefined],
        [`${id}:1:1`, 'webhook_call', '{"n":"twice"}', 'it said 204'],
        [`${id}:1:2`, 'webhook_call', '{"n":"twice"}', undefined],
      ],
    );
    const ask = (place: string, hash: string) =>
      it.ledger.calls.logCall(again, begun(again, place, hash));
    const done = { kind: 'done', key: `${id}:1:1`, ending: ended('it said 204') };
    assert.deepEqual(await ask('5:0', 'twice'), done, 'in the order of their beginnings');
    assert.deepEqual(await ask('5:1', 'zero'), { kind: 'unknown', key: `${id}:1:0` });
    assert.deepEqual(await ask('5:2', 'twice'), { kind: 'unknown', key: `${id}:1:2` });
    assert.deepEqual(await ask('5:3', 'twice'), { kind: 'run' });
  }),
  durably('a message that is replayed repeats no call, and its audit stays', async (it) => {
    const claim = await turn(it, 'ann');
    const key = `${claim.message.id}:1:0`;
    await it.ledger.calls.logCall(claim, begun(claim));
    it.ledger.calls.logCallEnd(claim, key, ended('it said 204'));
    await it.ledger.deadLetter(claim, failure('fault'));
    await it.ledger.replay(claim.message.id);
    const again = await oneIn(it);
    assert.deepEqual(
      (await it.ledger.toolUses(again, 9)).map((use) => [use.key, use.outcome]),
      [[key, 'done']],
    );
    const done = { kind: 'done', key, ending: ended('it said 204') };
    assert.deepEqual(await it.ledger.calls.logCall(again, begun(again, '4:0')), done);
  }),
];

export const agentCases: readonly LedgerCase[] = [...noteCases, ...useCases, ...callLogCases];

const ended = (text: string): CallEnding => ({ text, outcome: 'done', ms: 5 });

/** A call in that message's turn; its key is `hash`. */
function begun({ message }: InClaim, place = '1:0', hash = 'one'): BegunCall {
  return {
    key: `${message.id}:${place}`,
    hash,
    at: Date.now(),
    tool: 'webhook_call',
    mode: 'allow',
    rule: 'no_governance',
    arguments: JSON.stringify({ n: hash }),
    sensitivity: 'public',
  };
}

async function turn(it: Bench, who: string, channel = hook): Promise<InClaim> {
  await accept(it, said(who, 'hello', { channel }));
  return oneIn(it, channel);
}

async function complete(it: Bench, claim: InClaim, notes: readonly NoteMove[]): Promise<void> {
  assert.equal(await it.ledger.complete(claim, { ...effects(claim, ['a']), notes }), true);
}

async function noted(it: Bench, who: string, ...moves: NoteMove[]): Promise<void> {
  await complete(it, await turn(it, who), moves);
}

/** The context of the conversation's next turn. */
async function seen(
  it: Bench,
  who: string,
  scope: NoteScope = here,
  channel = hook,
): Promise<string[]> {
  const claim = await turn(it, who, channel);
  const notes = texts(await it.ledger.notes(claim, scope));
  await answer(it, claim, 'a');
  return notes;
}

/** @param n its duration, which identifies it */
async function used(it: Bench, who: string, n: number): Promise<void> {
  const claim = await turn(it, who);
  const use: ToolUse = {
    key: `${claim.message.id}:1:0`,
    at: Date.now(),
    ms: n,
    tool: 'calc',
    mode: 'allow',
    rule: 'no_governance',
    outcome: 'done',
    arguments: JSON.stringify({ expression: String(n) }),
  };
  const all = { ...effects(claim, ['a']), toolUses: [{ ...use, told: null }] };
  assert.equal(await it.ledger.complete(claim, all), true);
}
