/** The keys of links: svc's own id of a conversation, and the conversation of a message. */
import assert from 'node:assert/strict';
import type { ConversationRow } from '../../src/domain/story.ts';
import type { MessageId } from '../../src/domain/ids.ts';
import type { TakeoverMessage, Effects, InClaim } from '../../src/ledger/ledger.ts';
import { accept, answer, effects, hook, oneIn, other, said } from './ledger/kit.ts';
import { answered } from './reader-kit.ts';
import type { It, ReaderCase } from './reader.ts';

const all = { after: null, limit: 100 };

export const linkReads: readonly ReaderCase[] = [
  [
    'a conversation has an id of svc’s own, which leads back to it and holds nothing of its key',
    async (it, { durable }) => {
      await answered(it);
      await accept(it, said('ada', 'elsewhere', { channel: other }));
      await accept(it, said('waits', 'and has no turn'));
      const rows = await rowsOf(it);
      assert.equal(rows.length, durable ? 3 : 0);
      assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
      for (const { id, channel, conversation } of rows) {
        assert.match(id!, /^c[\w-]{20,}$/);
        const read = Buffer.from(id!, 'base64url').toString('latin1');
        assert.ok(!`${id} ${read}`.includes(conversation) && !read.includes(channel));
        assert.deepEqual(await it.reader.conversationById(id!), { channel, conversation });
        assert.equal((await it.reader.conversation({ channel, conversation }))?.id, id);
      }
      for (const id of ['', 'c', 'webhook/ada', 'cAAAA', `c${'A'.repeat(70)}`, 'x'.repeat(9_000)]) {
        assert.equal(await it.reader.conversationById(id), null, id);
      }
    },
  ],
  [
    'the id of a conversation that was forgotten leads nowhere',
    async (it) => {
      const { message } = await answered(it);
      const [row] = await rowsOf(it);
      const { channel, conversation } = message;
      await it.ledger.forget({ kind: 'conversation', channel, conversation });
      if (row !== undefined) assert.equal(await it.reader.conversationById(row.id!), null);
      assert.deepEqual(await it.reader.origins([message.id]), []);
    },
  ],
  [
    'whose messages are is told in the order of the question, of those that are kept',
    async (it, { durable }) => {
      const { message } = await answered(it);
      const [second] = await accept(it, said('bob', 'and me'));
      const rows = await rowsOf(it);
      const idOf = (name: string) => rows.find(({ conversation }) => conversation === name)?.id;
      const asked = [second!.id, '0'.repeat(22), message.id, '', "'; --"];
      const told = await it.reader.origins(asked);
      const sender = (name: string) => ({ id: `sender of ${name}`, name: null });
      const wanted = [
        [second!.id, hook, 'bob', idOf('bob'), sender('bob')],
        [message.id, hook, 'ada', idOf('ada'), sender('ada')],
      ];
      assert.deepEqual(
        told.map((one) => [one.id, one.channel, one.conversation, one.conversationId, one.sender]),
        durable ? wanted : [],
      );
      assert.deepEqual(await it.reader.origins([]), []);
      const text = await it.reader.storyText(message.id);
      assert.equal(text?.conversationId ?? undefined, idOf('ada'));
    },
  ],
  [
    'the lines of messages are the beginnings of what is kept, in the order of the question',
    async (it, { durable }) => {
      const { message } = await answered(it);
      const tricky = { id: 'eve', name: 'x","text":"forged' };
      const texts = [
        ' two\r\n\tlines \u0000and \u202Eturned\u202C\u200B ',
        '\u{1F600}'.repeat(300),
        '"\\'.repeat(20_000),
        '',
      ];
      const more = { sender: tricky, sensitivity: 'private' } as const;
      const kept = await accept(it, ...texts.map((text) => said('eve', text, more)));
      const asked = [kept[1]!.id, '0'.repeat(22), message.id, "'; --", kept[0]!.id];
      const lines = await it.reader.lines(asked);
      const wanted = [
        { id: asked[0], line: `${'\u{1F600}'.repeat(139)}…`, sensitivity: 'private' },
        { id: message.id, line: message.text, sensitivity: 'public' },
        { id: asked[4], line: 'two lines and turned', sensitivity: 'private' },
      ];
      assert.deepEqual(lines, durable ? wanted : []);
      const [long, none] = await it.reader.lines(kept.slice(2).map(({ id }) => id));
      assert.equal(long?.line, durable ? `${'"\\'.repeat(69)}"…` : undefined);
      assert.equal(none?.line, durable ? '' : undefined);
      assert.deepEqual(await it.reader.lines([]), []);
      const { channel, conversation } = message;
      await it.ledger.forget({ kind: 'conversation', channel, conversation });
      assert.deepEqual(await it.reader.lines([message.id]), []);
    },
  ],
  [
    'a turn names the message that it answers',
    async (it, { durable }) => {
      const { message } = await answered(it);
      await accept(it, said('ada', 'again'));
      const claim = await oneIn(it);
      await answer(it, claim, 'yes');
      const { channel, conversation } = message;
      const whose = { kind: 'conversation', channel, conversation } as const;
      const { rows } = await it.reader.turns(whose, all);
      assert.deepEqual(
        rows.map(({ messageId }) => messageId),
        durable ? [message.id, claim.message.id] : [],
      );
      assert.ok(rows.every(({ byHand }) => byHand === null));
    },
  ],
  [
    'a piece of a message tells with which one it was answered',
    async (it, { durable }) => {
      const gather = { kind: 'burst', ms: 10_000 } as const;
      const [first, second] = await accept(
        it,
        ...['one', 'two'].map((text) => said('ada', text, { gather })),
        said('ada', '/new'),
      );
      const claim = await oneIn(it);
      await answer(it, claim, 'both');
      const whole = await it.reader.story(first!.id);
      const piece = await it.reader.story(second!.id);
      assert.deepEqual([whole?.state, whole?.replies.length], ['answered', 1]);
      assert.deepEqual([piece?.state, piece?.replies.length], ['answered', 0]);
      assert.deepEqual(piece?.trace?.steps, [{ kind: 'joined', answeredWith: first!.id }]);
      const { channel, conversation } = claim.message;
      const { rows } = await it.reader.turns({ kind: 'conversation', channel, conversation }, all);
      assert.deepEqual(
        rows.map(({ text }) => text),
        durable ? ['one\ntwo'] : [],
      );
    },
  ],
  [
    'a turn that an operator answered says so, and with which later one',
    async (it, { durable }) => {
      const { channel, conversation } = (await answered(it)).message;
      const where = { channel, conversation };
      await it.ledger.takeovers.hold(where);
      const [first, last] = await accept(it, said('ada', 'one'), said('ada', 'two'));
      await it.ledger.takeovers.answer(where, last!.id, (one, isLast) =>
        writtenByHand(one, isLast ? null : last!.id),
      );
      const { rows } = await it.reader.turns({ kind: 'conversation', ...where }, all);
      const told = rows.map(({ messageId, byHand }) => [messageId, byHand]).slice(1);
      const expected = [
        [first!.id, { answeredWith: last!.id }],
        [last!.id, { answeredWith: null }],
      ];
      assert.deepEqual(told, durable ? expected : []);
    },
  ],
];

/** The effects of an operator's answer to both. */
function writtenByHand(one: TakeoverMessage, answeredWith: MessageId | null): Effects {
  const made = effects(one as InClaim, answeredWith === null ? ['by hand'] : []);
  const steps = [{ kind: 'operator', answeredWith } as const];
  return { ...made, trace: { ...made.trace!, outcome: 'by_hand', steps } };
}

async function rowsOf(it: It): Promise<readonly ConversationRow[]> {
  return (await it.reader.conversations(all)).rows;
}
