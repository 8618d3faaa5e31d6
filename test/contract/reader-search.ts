/** Searches of the ledger's texts, as every backend runs them. */
import assert from 'node:assert/strict';
import { failure } from '../../src/domain/failure.ts';
import type { ConversationId } from '../../src/domain/ids.ts';
import type { FoundText } from '../../src/domain/search.ts';
import { accept, effects, exchange, hook, oneIn, oneOut, said } from './ledger/kit.ts';
import { answered } from './reader-kit.ts';
import type { It, ReaderCase } from './reader.ts';

const gone = failure('gone', { status: 410 });
const all = { after: null, limit: 100 };

export const searchReads: readonly ReaderCase[] = [
  [
    'messages and replies are found by how their ids begin, without a word of theirs',
    async (it) => {
      const { message } = await answered(it);
      const { reply } = await oneOut(it);
      for (const beginning of [message.id, ` ${message.id.toUpperCase()} `]) {
        const { rows, next } = await it.reader.foundIds(beginning, all);
        const [row, ...more] = rows;
        assert.deepEqual([more, next], [[], null]);
        assert.deepEqual(row, {
          kind: 'message',
          id: message.id,
          messageId: message.id,
          channel: hook,
          at: message.acceptedAt,
          brain: 'main',
          state: 'answered',
          outcome: 'reply',
        });
      }
      const { rows } = await it.reader.foundIds(message.id.slice(0, 6), all);
      const told = rows.map(({ kind, id, messageId, state }) => [kind, id, messageId, state]);
      const expected = [
        ['message', message.id, message.id, 'answered'],
        ['reply', reply.id, message.id, 'waiting'],
      ];
      assert.deepEqual(new Set(told), new Set(expected));
    },
  ],
  [
    'fewer than six characters of an id, and what is no id, find nothing',
    async (it) => {
      const { message } = await answered(it);
      for (const nobodys of ['', message.id.slice(0, 5), `${message.id}0`, 'hello!', "' OR 1 --"]) {
        assert.deepEqual(await it.reader.foundIds(nobodys, all), { rows: [], next: null });
      }
      const behind = { after: 'nonsense', limit: 5 };
      assert.deepEqual(await it.reader.foundIds(message.id, behind), { rows: [], next: null });
    },
  ],
  [
    'a dead letter is found by its id, and says so',
    async (it) => {
      await answered(it);
      const claim = await oneOut(it);
      await it.ledger.deadLetter(claim, gone);
      const { rows } = await it.reader.foundIds(claim.reply.id, all);
      assert.deepEqual(
        rows.map(({ kind, id, state }) => [kind, id, state]),
        [['dead_letter', claim.reply.id, 'dead']],
      );
    },
  ],
  [
    'many ids come newest first, a page at a time, each once',
    async (it) => {
      const ids: string[] = [];
      for (let at = 0; at < 5; at++) ids.unshift((await answered(it)).message.id);
      // The time may move on to another digit between two of them.
      const [newest, oldest] = [ids[0]!, ids.at(-1)!];
      const beginning = newest.slice(0, firstDifference(newest, oldest));
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const page = await it.reader.foundIds(beginning, { after, limit: 3 });
        assert.ok(page.rows.length <= 3);
        seen.push(...page.rows.filter(({ kind }) => kind === 'message').map(({ id }) => id!));
        after = page.next;
      } while (after !== null);
      assert.deepEqual(seen, ids);
    },
  ],
  [
    'texts are found by the beginnings of their words, where there is storage',
    async (it, { durable }) => {
      await exchange(it, 'ann', 'Where is my Parcel from Köln?', 'It left the harbour.');
      await exchange(it, 'bob', 'Something else', 'Indeed');
      for (const words of ['parc', 'PARCEL where', 'koln', 'harbour', '"parcel" (köln)']) {
        const found = await textsBy(it, words);
        const shown = found.map(({ kind, conversation, sender }) => [kind, conversation, sender]);
        assert.deepEqual(shown, durable ? [['message', 'ann', 'sender of ann']] : [], words);
      }
      for (const words of ['arcel', 'parcel else', 'nobody', '', '  ', '*', '"', 'NOT']) {
        assert.deepEqual(await textsBy(it, words), [], words);
      }
      if (!durable) return;
      const [found] = await textsBy(it, 'parcel');
      assert.equal(found!.excerpt!.text, 'Where is my Parcel from Köln?');
      assert.deepEqual(found!.excerpt!.hits, [{ from: 12, to: 18 }]);
      assert.deepEqual([found!.state, found!.outcome, found!.brain], ['answered', 'reply', 'main']);
      assert.equal((await it.reader.story(found!.id!))?.id, found!.messageId);
    },
  ],
  [
    'a text without spaces is found by any stretch of it',
    async (it, { durable }) => {
      await exchange(it, 'ann', '我的包裹在哪里？', '私は東京都に住んでいます');
      for (const words of ['包裹', '包', '东西', '東京', '京都に', 'います', '都京']) {
        const isThere = durable && words !== '东西' && words !== '都京';
        assert.equal((await textsBy(it, words)).length, isThere ? 1 : 0, words);
      }
    },
  ],
  [
    'sender and conversation are found; and what waits, died, or was a command',
    async (it, { durable }) => {
      if (!durable) return;
      await exchange(it, 'room-4711', 'hello', 'hi');
      const byId = await textsBy(it, 'room-47');
      assert.deepEqual(
        byId.map(({ kind, conversation, excerpt }) => [kind, conversation, excerpt]),
        [
          ['conversation', 'room-4711', null],
          ['message', 'room-4711', null],
        ],
      );
      await accept(it, said('eve', '/new please'));
      const command = await oneIn(it);
      const trace = { ...effects(command, ['done']).trace!, outcome: 'command' as const };
      await it.ledger.complete(command, { ...effects(command, ['done']), turn: null, trace });
      assert.deepEqual(
        (await textsBy(it, '/ne')).map(({ outcome }) => outcome),
        ['command'],
      );
      assert.deepEqual(await textsBy(it, '/stop'), []);
      await accept(it, said('eve', 'the unlucky one'));
      await it.ledger.deadLetter(await oneIn(it), failure('fault'));
      await accept(it, said('eve', 'the waiting one'));
      const found = await textsBy(it, 'the one');
      assert.deepEqual(
        found.map(({ kind, state }) => [kind, state]),
        [
          ['message', 'waiting'],
          ['dead_letter', 'dead'],
        ],
      );
    },
  ],
  [
    'many texts come newest first, a page at a time, each once',
    async (it, { durable }) => {
      if (!durable) return;
      for (let at = 0; at < 7; at++) await exchange(it, `c${at % 3}`, `parcel ${at}`, 'yes');
      await accept(it, said('c9', 'parcel 7'));
      const seen: FoundText[] = [];
      let after: string | null = null;
      do {
        const page = await it.reader.foundTexts('parcel', { after, limit: 3 });
        assert.ok(page.rows.length <= 3 && page.complete !== undefined);
        seen.push(...page.rows);
        after = page.next;
      } while (after !== null);
      // Two rows of one millisecond may come in either order.
      const numberOf = ({ excerpt }: FoundText): string => excerpt!.text;
      const inOrder = seen.toSorted(
        (a, b) => b.at - a.at || numberOf(b).localeCompare(numberOf(a)),
      );
      assert.deepEqual(
        inOrder.map(numberOf),
        [7, 6, 5, 4, 3, 2, 1, 0].map((at) => `parcel ${at}`),
      );
      assert.deepEqual(
        seen.map(({ at }) => at),
        inOrder.map(({ at }) => at),
      );
      const nobodys = await it.reader.foundTexts('parcel', { after: 'nonsense', limit: 5 });
      assert.deepEqual([nobodys.rows, nobodys.next], [[], null]);
    },
  ],
  [
    'what was forgotten or discarded is not found any more',
    async (it, { durable }) => {
      if (!durable) return;
      await exchange(it, 'ann', 'zebra one', 'zebra two');
      await exchange(it, 'bob', 'zebra three', 'yes');
      const conversation = 'ann' as ConversationId;
      await it.ledger.forget({ kind: 'conversation', channel: hook, conversation });
      const left = await textsBy(it, 'zebra');
      assert.deepEqual(
        left.map((row) => row.conversation),
        ['bob'],
      );
      assert.deepEqual(await textsBy(it, 'ann'), []);
      await accept(it, said('cid', 'quokka'));
      const claim = await oneIn(it);
      await it.ledger.deadLetter(claim, failure('fault'));
      assert.equal((await textsBy(it, 'quokka')).length, 1);
      await it.ledger.discard(claim.message.id);
      assert.deepEqual(await textsBy(it, 'quokka'), []);
    },
  ],
];

async function textsBy(it: It, words: string): Promise<readonly FoundText[]> {
  const rows: FoundText[] = [];
  let after: string | null = null;
  do {
    const page = await it.reader.foundTexts(words, { ...all, after });
    rows.push(...page.rows);
    after = page.next;
  } while (after !== null);
  return rows;
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (one[at] === other[at]) at++;
  return at;
}
