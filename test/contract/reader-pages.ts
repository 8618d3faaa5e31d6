/** Pages, conversations and texts, as every backend reads them. */
import assert from 'node:assert/strict';
import { failure } from '../../src/domain/failure.ts';
import type { ChannelKey, ModelName } from '../../src/domain/ids.ts';
import { accept, answer, effects, hook, oneIn, oneOut, other, said } from './ledger/kit.ts';
import { answered, arrive } from './reader-kit.ts';
import type { ReaderCase } from './reader.ts';

const gone = failure('gone', { status: 410 });
const all = { after: null, limit: 100 };
/** Channels with a name of their own, beside unnamed ones of their types. */
const [support, former, intake] = [
  'support@messenger_a:77' as ChannelKey,
  'support@messenger_a:5' as ChannelKey,
  'intake@webhook' as ChannelKey,
];

export const pageReads: readonly ReaderCase[] = [
  [
    'a page holds at least one row and at most what was asked for',
    async (it) => {
      for (let at = 0; at < 3; at++) {
        await answered(it);
        await it.ledger.deadLetter(await oneOut(it), gone);
      }
      const sizes: number[] = [];
      for (const limit of [-1, 0, 1, 2.5, 1_000_000, Number.NaN]) {
        sizes.push((await it.reader.deadLetters({ after: null, limit })).rows.length);
      }
      assert.deepEqual(sizes, [1, 1, 1, 2, 3, 1]);
    },
  ],
  [
    'behind a place that no page gave there is nothing',
    async (it) => {
      await answered(it);
      await it.ledger.deadLetter(await oneOut(it), gone);
      const encode = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');
      const nobodys = ['', '%', 'nonsense', 'W10', encode(null), encode(['a', 1, 'b'])];
      for (const after of [...nobodys, encode(['a', 'b'])]) {
        assert.deepEqual(await it.reader.deadLetters({ after, limit: 5 }), {
          rows: [],
          next: null,
        });
      }
      for (const after of [...nobodys, encode([1, 2])]) {
        assert.deepEqual((await it.reader.conversations({ after, limit: 5 })).rows, []);
      }
    },
  ],
  [
    'the bots of a messenger are told by its type: those that wait, and those that answered',
    async (it) => {
      assert.deepEqual(await it.reader.channelKeys('messenger_a'), []);
      const again = 'messenger_a:9' as ChannelKey;
      for (const channel of [other, again]) await accept(it, said('ada', 'hello', { channel }));
      const claim = await oneIn(it, other);
      await it.ledger.complete(claim, effects(claim, []));
      await answered(it);
      assert.deepEqual(await it.reader.channelKeys('messenger_a'), [other, again]);
      assert.deepEqual(await it.reader.channelKeys('messenger_b'), []);
    },
  ],
  [
    'a channel with a name is apart from the unnamed one of its type',
    async (it, { durable }) => {
      for (const channel of [other, support, former, hook, intake]) {
        await accept(it, said('ada', 'hello', { channel, sensitivity: 'private' }));
        await answer(it, await oneIn(it, channel), 'hi');
      }
      const keys = (name: string) => it.reader.channelKeys(name);
      assert.deepEqual(await keys('messenger_a'), [other]);
      assert.deepEqual(await keys('support'), [former, support]);
      assert.deepEqual(await keys('intake'), [intake]);
      assert.deepEqual(await keys('supp'), []);
      const counted = (name: string) => it.reader.privateConversations(name);
      const [one, two] = durable ? [1, 2] : [0, 0];
      assert.deepEqual(
        [await counted('messenger_a'), await counted('support'), await counted('supp')],
        [one, two, 0],
      );
      assert.deepEqual([await counted('webhook'), await counted('intake')], [one, one]);
    },
  ],
  [
    'a conversation tells the cuts that its messages made, with their reasons',
    async (it, { durable }) => {
      const { message } = await answered(it);
      const cuts = (['idle', 'daily', 'command'] as const).map((reason, index) => {
        return { session: index + 2, at: 4_711 + index, reason };
      });
      for (const { at, reason } of cuts) {
        await arrive(it);
        const claim = await oneIn(it);
        await it.ledger.complete(claim, effects(claim, [], { session: { at, reason } }));
      }
      const { channel, conversation } = message;
      const told = await it.reader.conversation({ channel, conversation });
      assert.deepEqual(told?.cuts ?? null, durable ? cuts : null);
    },
  ],
  [
    'without storage there are no conversations and no texts; with it there are',
    async (it, { durable }) => {
      const { message } = await answered(it);
      const { channel, conversation } = message;
      const many = durable ? 1 : 0;
      assert.equal((await it.reader.conversations(all)).rows.length, many);
      assert.equal((await it.reader.conversation({ channel, conversation })) !== null, durable);
      const whose = { kind: 'conversation', channel, conversation } as const;
      assert.equal((await it.reader.turns(whose, all)).rows.length, many);
      const text = await it.reader.storyText(message.id);
      assert.equal(text?.text ?? null, durable ? 'hello' : null);
      assert.deepEqual(text?.replies.map((reply) => reply.text) ?? null, durable ? ['hi'] : null);
    },
  ],
  [
    'a turn names the model whose answer is the reply, of an agent too, while that is kept',
    async (it, { durable }) => {
      await arrive(it);
      const claim = await oneIn(it);
      const made = effects(claim, ['hi']);
      const call = { kind: 'model', rank: 0, startMs: 0, ms: 1, tries: [] } as const;
      const more = { result: 'answer', linesDropped: 0, usage: null } as const;
      const steps = [{ ...call, ...more, model: 'local_runtime/a' as ModelName }];
      await it.ledger.complete(claim, { ...made, trace: { ...made.trace!, steps } });
      await arrive(it);
      const command = await oneIn(it);
      const end = { ...made.trace!, outcome: 'fault' } as const;
      await it.ledger.complete(command, { ...effects(command, ['Sorry.']), trace: end });
      const { channel, conversation } = claim.message;
      const whose = { kind: 'conversation', channel, conversation } as const;
      const { rows } = await it.reader.turns(whose, all);
      const models = rows.map(({ model }) => model);
      assert.deepEqual(models, durable ? ['local_runtime/a', null] : []);
      const sender = { kind: 'sender', channel, sender: claim.message.sender.id } as const;
      const theirs = await it.reader.turns(sender, all);
      assert.deepEqual(theirs.rows, rows);
    },
  ],
  [
    'what other models answered is told with the text, and goes with the message',
    async (it, { durable }) => {
      const id = await arrive(it);
      const claim = await oneIn(it);
      const unsent = [
        { model: 'local_runtime/b' as ModelName, text: 'so "quoted" \0 \u{1F600}' },
        { model: 'hosted_runtime/c' as ModelName, text: 'otherwise' },
      ];
      await it.ledger.complete(claim, { ...effects(claim, ['hi']), unsent });
      const told = await it.reader.storyText(id);
      assert.deepEqual(told?.unsent ?? null, durable ? unsent : null);
      assert.equal(told?.sensitivity ?? null, durable ? 'public' : null);
      assert.doesNotMatch(JSON.stringify(await it.reader.story(id)), /otherwise/);
      const { channel, conversation } = claim.message;
      await it.ledger.forget({ kind: 'conversation', channel, conversation });
      assert.equal(await it.reader.storyText(id), null);
      const [labelled] = await accept(it, said('eve', 'x', { sensitivity: 'private' }));
      const text = await it.reader.storyText(labelled!.id);
      assert.equal(text?.sensitivity ?? null, durable ? 'private' : null);
    },
  ],
  [
    'a message that was dead and is answered anew has none of what was answered before',
    async (it, { durable }) => {
      const id = await arrive(it);
      const claim = await oneIn(it);
      const unsent = [{ model: 'local_runtime/b' as ModelName, text: 'before' }];
      await it.ledger.deadLetter(claim, failure('fault'), {
        ...effects(claim, ['Sorry.']),
        unsent,
      });
      assert.equal(await it.ledger.replay(id), durable ? 'done' : 'not_kept');
      if (!durable) return;
      assert.deepEqual((await it.reader.storyText(id))?.unsent, []);
      await answer(it, await oneIn(it), 'hi');
      assert.deepEqual((await it.reader.storyText(id))?.unsent, []);
    },
  ],
  [
    'conversations with private turns are counted for a type of channel',
    async (it, { durable }) => {
      const say = async (who: string, sensitivity: 'public' | 'private', channel = hook) => {
        await accept(it, said(who, 'hello', { sensitivity, channel }));
        await answer(it, await oneIn(it, channel), 'hi');
      };
      await say('ann', 'public');
      assert.equal(await it.reader.privateConversations('webhook'), 0);
      await say('ann', 'private');
      await say('ann', 'private');
      await say('bob', 'private');
      await say('ann', 'private', other);
      assert.equal(await it.reader.privateConversations('webhook'), durable ? 2 : 0);
      assert.equal(await it.reader.privateConversations('messenger_a'), durable ? 1 : 0);
      assert.equal(await it.reader.privateConversations('messenger_b'), 0);
    },
  ],
];
