/** The notes that remain after the turns of one batch. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { came, groupSuite, turn } from '../../../../test/fake/postgres/written-groups.ts';
import type { NoteStep } from './turns.ts';

groupSuite('notes', (groups) => {
  const { write } = groups;

  const queues = ['ann', 'bob', 'eve', 'joe'];
  const add = (text: string, max: number, brain: string | null = 'main'): NoteStep => {
    return { kind: 'add', brain, at: 1, private: false, text, max };
  };
  const clear = (brain: string | null = 'main'): NoteStep => ({ kind: 'clear', brain });
  /** Writes one turn for each queue. */
  async function noted(...turns: readonly (readonly NoteStep[])[]): Promise<unknown[]> {
    const ids = turns.map((_, at) => `${queues[at]} ${Math.random()}`);
    // The ids descend, so only the order of the turns gives the expected notes.
    ids.reverse();
    const came_ = ids.map((id, at) => {
      return came(id, null, null, { channel: 'webhook', conversation: queues[at]! });
    });
    await write(...came_);
    await write(...turns.map((notes, at) => turn(ids[at]!, notes)));
    return notes();
  }
  const notes = async (): Promise<unknown[]> => {
    const { rows } = await groups.client.query('SELECT text FROM svc.note ORDER BY seq');
    return rows.map(({ text }) => text);
  };

  test('keep the order of their turns, whatever that of the rows found', async () => {
    // With these settings the server finds the rows in the order of their ids.
    await groups.client.query('SET enable_nestloop = off; SET enable_hashjoin = off');
    const turns = queues.map((queue) => [add(`${queue} 1`, 9), add(`${queue} 2`, 9)]);
    const expected = queues.flatMap((queue) => [`${queue} 1`, `${queue} 2`]);
    assert.deepEqual(await noted(...turns), expected);
    await groups.client.query('RESET enable_nestloop; RESET enable_hashjoin');
  });

  test('go where a queue has the most, the oldest first', async () => {
    assert.deepEqual(await noted([add('a1', 3), add('a2', 3)], [add('b1', 3)]), ['a1', 'a2', 'b1']);
    assert.deepEqual(await noted([], [], [add('e1', 3)]), ['a2', 'b1', 'e1']);
    assert.deepEqual(await noted([add('a3', 3)], [add('b2', 3)]), ['e1', 'a3', 'b2']);
  });

  test('are bound by the turn that adds them, where bounds differ', async () => {
    assert.deepEqual(await noted([add('a1', 4)], [add('b1', 1)], [add('e1', 4)]), ['b1', 'e1']);
  });

  test('that were cleared are gone, and what came after stays', async () => {
    assert.deepEqual(await noted([add('old', 9)]), ['old']);
    const first = [add('a1', 9), add('own', 9, null)];
    const second = [add('b1', 9), clear(), add('b2', 9)];
    assert.deepEqual(await noted(first, second, [add('e1', 9)]), ['own', 'b2', 'e1']);
  });

  test('of a conversation are its own', async () => {
    assert.deepEqual(await noted([add('a1', 1, null)], [add('b1', 1, null)]), ['a1', 'b1']);
    const turns = [[clear(null), add('a2', 1, null), add('a3', 1, null)], [add('b2', 2, null)]];
    assert.deepEqual(await noted(...turns), ['b1', 'a3', 'b2']);
  });
});
