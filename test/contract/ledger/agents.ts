import assert from 'node:assert/strict';
import type { ChannelKey, ConversationId } from '../../../src/domain/ids.ts';
import type { Note, NoteMove, NoteScope } from '../../../src/domain/note.ts';
import type { ToolUse } from '../../../src/domain/tool-use.ts';
import { failure } from '../../../src/domain/failure.ts';
import type { InClaim } from '../../../src/store/store.ts';
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
  type Bench,
  type LedgerCase,
} from './kit.ts';

const here: NoteScope = { kind: 'conversation' };
const ofMain = { kind: 'brain', brain: 'main' } as const;
const add = (text: string, scope: NoteScope = here, notesMax = 10): NoteMove => {
  return { kind: 'add', scope, note: { at: 1_000, text }, notesMax };
};
const texts = (notes: readonly Note[]): string[] => notes.map(({ text }) => text);
const talk = (conversation: string, channel: ChannelKey = hook) => {
  return { channel, conversation: conversation as ConversationId };
};

/** What an agent keeps for later turns: notes. */
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

/** What is kept of the uses of tools. */
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
const journalCases: readonly LedgerCase[] = [
  promise('a call runs once, and its end is told to who asks again', async (it) => {
    const claim = await turn(it, 'ann');
    const key = `${claim.message.id}:1:0`;
    const next = `${claim.message.id}:1:1`;
    assert.deepEqual(await it.ledger.journal(claim, key, 'webhook_call'), { kind: 'run' });
    assert.deepEqual(await it.ledger.journal(claim, key, 'webhook_call'), { kind: 'unknown' });
    it.ledger.journalEnd(claim, key, 'it said 204');
    const done = { kind: 'done', text: 'it said 204' };
    assert.deepEqual(await it.ledger.journal(claim, key, 'webhook_call'), done);
    assert.deepEqual(await it.ledger.journal(claim, key, 'http_fetch'), { kind: 'unknown' });
    assert.deepEqual(await it.ledger.journal(claim, next, 'webhook_call'), { kind: 'run' });
  }),
  promise('a turn that was given back and runs again repeats no call', async (it) => {
    const first = await turn(it, 'ann');
    const keys = [0, 1, 2].map((n) => `${first.message.id}:1:${n}`);
    const answers = keys.map((key) => it.ledger.journal(first, key, 'webhook_call'));
    for (const told of await Promise.all(answers)) assert.deepEqual(told, { kind: 'run' });
    it.ledger.journalEnd(first, keys[0]!, 'ended before');
    await it.ledger.release(first);
    it.ledger.journalEnd(first, keys[1]!, 'ended late');
    const again = await oneIn(it);
    const told = keys.map((key) => it.ledger.journal(again, key, 'webhook_call'));
    assert.deepEqual(await Promise.all(told), [
      { kind: 'done', text: 'ended before' },
      { kind: 'done', text: 'ended late' },
      { kind: 'unknown' },
    ]);
  }),
  promise('nothing may run for a claim that is over', async (it) => {
    const claim = await turn(it, 'ann');
    await answer(it, claim, 'a');
    const answered = await it.ledger.journal(claim, `${claim.message.id}:1:0`, 'webhook_call');
    assert.deepEqual(answered, { kind: 'unknown' });
  }),
  durably('what a call came to is known after a restart', async (it) => {
    const claim = await turn(it, 'ann');
    const [begun, ended] = [`${claim.message.id}:1:0`, `${claim.message.id}:1:1`];
    await it.ledger.journal(claim, begun, 'webhook_call');
    await it.ledger.journal(claim, ended, 'webhook_call');
    it.ledger.journalEnd(claim, ended, 'it said 204');
    await it.reopen();
    const again = await oneIn(it);
    assert.deepEqual(await it.ledger.journal(again, begun, 'webhook_call'), { kind: 'unknown' });
    const done = { kind: 'done', text: 'it said 204' };
    assert.deepEqual(await it.ledger.journal(again, ended, 'webhook_call'), done);
  }),
  durably('a message that is replayed repeats no call', async (it) => {
    const claim = await turn(it, 'ann');
    const key = `${claim.message.id}:1:0`;
    await it.ledger.journal(claim, key, 'webhook_call');
    it.ledger.journalEnd(claim, key, 'it said 204');
    await it.ledger.bury(claim, failure('fault'));
    await it.ledger.replay(claim.message.id);
    const again = await oneIn(it);
    const done = { kind: 'done', text: 'it said 204' };
    assert.deepEqual(await it.ledger.journal(again, key, 'webhook_call'), done);
  }),
];

export const agentCases: readonly LedgerCase[] = [...noteCases, ...useCases, ...journalCases];

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

/** What the next turn of a conversation sees. */
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

/** @param n how long it took, so that it is known again */
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
  const all = { ...effects(claim, ['a']), toolUses: [use] };
  assert.equal(await it.ledger.complete(claim, all), true);
}
