/** The rows that a batch of writes leaves in the tables, and its result. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all } from '../../../../test/fake/ledger-rows.ts';
import {
  came,
  groupSuite,
  place,
  taker,
  turn,
} from '../../../../test/fake/postgres/written-groups.ts';
import { fromText, toText } from '../server/text.ts';
import { compose } from './compose.ts';
import type { NoteStep } from './turns.ts';

const odd = 'a\0b \ud800 \udc00 \ue000 🙂 "\\" \u2028';
const stored = toText(odd);

groupSuite('a group of writes', (groups) => {
  const { ask, write } = groups;

  test('a key that came before, in this group or another, makes no row', async () => {
    const first = await write(came('m1', 'k1', 'one'), came('m2', 'k1', 'other'), came('m3', 'k2'));
    assert.deepEqual([...first.known], [['m2', { id: 'm1', fingerprint: 'one' }]]);
    const second = await write(came('m4', 'k2'), came('m5', 'k1'), came('m6'), came('m7', 'k1'));
    const one = { id: 'm1', fingerprint: 'one' };
    const known = { m4: { id: 'm3', fingerprint: null }, m5: one, m7: one };
    assert.deepEqual(Object.fromEntries(second.known), known);
    assert.deepEqual([...second.numbers], [['m6', 3]]);
    const { rows } = await groups.client.query('SELECT id, n FROM svc.inbox ORDER BY n');
    assert.deepEqual(
      rows.map(({ id, n }) => `${id} ${n}`),
      ['m1 1', 'm3 2', 'm6 3'],
    );
    assert.deepEqual(await all(groups.client, 'lane', 'tail'), [3]);
  });

  test('another channel has keys of its own', async () => {
    const landed = await write(
      came('m1', 'k'),
      came('m2', 'k', null, { channel: 'messenger_a:1', conversation: 'ann' }),
    );
    assert.equal(landed.known.size, 0);
    assert.deepEqual(Object.fromEntries(landed.numbers), { m1: 1, m2: 1 });
  });

  test('a key that has expired is the next message’s', async () => {
    await write(came('m1', 'k', 'old'));
    const early = { ...came('m2', 'k'), at: 99 };
    assert.equal((await write(early)).known.get('m2')?.id, 'm1');
    const late = { ...came('m3', 'k', 'new'), at: 100, expiresAt: 200 };
    assert.equal((await write(late)).known.size, 0);
    assert.equal((await write({ ...came('m4', 'k'), at: 101 })).known.get('m4')?.id, 'm3');
    assert.deepEqual(await all(groups.client, 'dedupe', 'fingerprint'), ['new']);
  });

  test('a thousand messages take their numbers in their order, each in its queue', async () => {
    const writes = Array.from({ length: 1_000 }, (_, at) => {
      // The ids descend, so their order differs from the order of the numbers.
      const id = `m${String(9_999 - at)}`;
      const queue = { channel: 'webhook', conversation: `c${at % 7}` };
      return came(id, at % 3 === 0 ? `k${at}` : null, null, queue);
    });
    const { numbers, known } = await write(...writes);
    assert.equal(known.size, 0);
    for (const [at, { id }] of writes.entries()) {
      assert.equal(numbers.get(id), 1 + Math.floor(at / 7), id);
    }
    const ends = await write(...writes.map(({ id }) => turn(id)));
    assert.equal(ends.done.size, 1_000);
    assert.deepEqual(await all(groups.client, 'inbox'), []);
    assert.equal((await all(groups.client, 'message')).length, 1_000);
    assert.equal((await all(groups.client, 'turn', 'n')).length, 1_000);
  });

  test('a message that was one with another ends with it, or stays', async () => {
    await write(came('m1', null, null, place), came('m2', null, null, place));
    const joined = { ...turn('m2'), with: 'm1', replies: [], said: null };
    const { done } = await write(turn('m1'), joined);
    assert.deepEqual([...done].toSorted(), ['m1', 'm2']);
    await write(came('m3', null, null, place));
    const late = await write(turn('m0'), { ...joined, id: 'm3', with: 'm0' });
    assert.equal(late.done.has('m3'), false);
    assert.equal((await all(groups.client, 'inbox')).length, 1);
  });

  test('queues that something else changes are locked, and stay as they were', async () => {
    const [bob, eve] = ['bob', 'eve'].map((conversation) => ({ ...place, conversation }));
    await write(came('m1', null, null, place), came('m2', null, null, eve));
    const { statements } = compose(
      [
        { kind: 'single', text: 'SELECT 1', values: [], queues: [eve!, bob!, place] },
        came('m3', null, null, eve),
      ],
      { ...taker, instance: 2 },
    );
    assert.deepEqual(statements.map(({ text }) => text).indexOf('SELECT 1'), 2);
    await groups.client.query('BEGIN');
    await ask(statements[0]!);
    const found = await groups.client.query(
      'SELECT conversation, tail, owner, epoch > 0 AS begun, waits ' +
        'FROM svc.lane ORDER BY conversation',
    );
    await groups.client.query('ROLLBACK');
    const queue = { owner: 1, begun: true, waits: 0 };
    assert.deepEqual(found.rows, [
      { conversation: 'ann', tail: 1, ...queue },
      { conversation: 'eve', tail: 2, ...queue },
    ]);
  });

  test('the end of a turn whose message is gone leaves nothing', async () => {
    await write(came('m1'));
    const note: NoteStep = { kind: 'add', brain: 'main', at: 1, private: false, text: 'x', max: 5 };
    const lost = turn('m2', [note, { ...note, brain: null }]);
    const { done } = await write(turn('m1'), lost);
    assert.deepEqual([...done], ['m1']);
    assert.deepEqual(await all(groups.client, 'message'), ['m1']);
    assert.deepEqual(await all(groups.client, 'outbox'), ['m1-0', 'm1-1']);
    assert.deepEqual(await all(groups.client, 'note', 'text'), []);
  });

  test('replies keep their order', async () => {
    await write(came('m1'));
    const replies = ['z', 'a', 'm', 'b'].map((id) => {
      return { id, channel: 'webhook', at: 1, body: '{}' };
    });
    await write({ ...turn('m1'), replies });
    const { rows } = await groups.client.query('SELECT id FROM svc.outbox ORDER BY seq');
    assert.deepEqual(
      rows.map(({ id }) => id),
      ['z', 'a', 'm', 'b'],
    );
  });

  test('every text comes back as it was, whatever is in it', async () => {
    const body = JSON.stringify({ text: odd });
    const queue = { channel: 'webhook', conversation: stored };
    await write({ ...came('m1', stored, null, queue), sender: stored, body });
    const use = { at: 1, ms: 1, tool: stored, mode: 'allow', rule: stored, outcome: 'unknown' };
    const call = { key: stored, ...use, arguments: stored, told: stored };
    const hash = { messageId: 'm1', ...queue, hash: 'h', private: false };
    await write(
      { kind: 'begun', ...call, ...hash },
      { kind: 'ended', key: stored, text: stored, outcome: 'done', ms: 2 },
      { kind: 'cursor', channel: 'webhook', name: 'offset', value: stored },
      { kind: 'audit', at: 1, action: 'replay', target: body, status: 200, reason: stored },
    );
    const note = { kind: 'add', at: 1, private: false, text: stored, max: 5 } as const;
    const said = { session: 1, at: 1, quoted: false, private: false, text: stored, reply: stored };
    const texts = { brain: stored, model: stored, trace: body, failure: body, uses: [call] };
    const replies = [{ id: 'r1', channel: 'webhook', at: 1, body }];
    const notes = [
      { ...note, brain: null },
      { ...note, brain: stored },
    ];
    await write({ ...turn('m1'), ...texts, said, replies, notes });
    const tried = JSON.stringify([1, 2, 'server_error', null]);
    const failed = { attempts: 1, failure: body, tried };
    const marks = { late: false, parked: false, possibleDuplicate: false, uncounted: 0 };
    await write({ kind: 'deferred', id: 'r1', dueAt: 5, ...marks, ...failed });
    await write({ kind: 'sent', id: 'r1', at: 9, tookMs: null, ...failed, attempts: 2 });
    const plain = {
      turn: ['conversation', 'sender', 'text', 'reply'],
      note: ['conversation', 'text'],
      message: ['conversation', 'sender', 'brain', 'model'],
      tool_use: ['key', 'tool', 'rule', 'arguments', 'conversation'],
      tool_call: ['key', 'text'],
      cursor: ['value'],
      dedupe: ['key'],
      lane: ['conversation'],
      sent: ['conversation'],
      audit: ['reason'],
    };
    for (const [table, columns] of Object.entries(plain)) {
      for (const column of columns) {
        const found = await all(groups.client, table, column);
        assert.ok(found.length > 0, table);
        for (const one of found) assert.equal(fromText(String(one)), odd, `${table}.${column}`);
      }
    }
    const json = { message: ['body', 'trace', 'failure'], sent: ['body', 'failure'] };
    for (const [table, columns] of Object.entries({ ...json, audit: ['target'] })) {
      for (const column of columns) {
        assert.deepEqual(await all(groups.client, table, column), [body], `${table}.${column}`);
      }
    }
    const [tries] = await all(groups.client, 'sent', 'tries');
    assert.deepEqual(JSON.parse(String(tries)), [JSON.parse(tried), JSON.parse(tried)]);
  });
});
