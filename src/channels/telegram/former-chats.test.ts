/** What the messages of a supergroup say of the group that it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBots } from '../../../test/fake/bots.ts';
import { NotingLedger } from '../../../test/fake/discord-bench.ts';
import { until } from '../../../test/support/waiting.ts';
import type { Reply } from '../../domain/reply.ts';
import { dayMs } from '../../lib/durations.ts';
import { Stopper } from '../../lib/stop.ts';
import { FormerChats } from './former-chats.ts';
import { targetOf } from './wire.ts';

/** A bot in privacy mode. */
async function start() {
  await using made = new AsyncDisposableStack();
  let skippedMs = 0;
  const now = (): number => Date.now() + skippedMs;
  const options = { readsAllGroupMessages: false, now };
  const { platform: telegram, ...bot } = await made.use(await openBots()).telegram(options);
  const own = made.move();
  return {
    ...bot,
    telegram,
    /** The other ids of the chat, as the message with that text has them. */
    aliasesOf: async (text: string) => (await bot.said(text)).chatAliases,
    skip: (ms: number) => void (skippedMs += ms),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a supergroup is known by its former id, in this process and in the next one', async () => {
  await using it = await start();
  const { telegram, ledger } = it;
  const { stop } = await it.run();
  const group = telegram.group('Kitchen');
  telegram.say(group, '/one@svc_test_bot');
  assert.equal(await it.aliasesOf('/one'), undefined);
  const next = telegram.migrate(group);
  telegram.say(next, '/two@svc_test_bot');
  assert.deepEqual(await it.aliasesOf('/two'), [String(group.id)]);
  const other = telegram.supergroup('Garden');
  telegram.say(other, '/three@svc_test_bot');
  assert.equal(await it.aliasesOf('/three'), undefined);
  await stop();
  await it.run();
  telegram.say(next, '/four@svc_test_bot');
  assert.deepEqual(await it.aliasesOf('/four'), [String(group.id)]);
  const stored = ledger.commits.filter(({ place }) => place?.name === 'former_chats');
  assert.equal(stored.length, 1, 'what is stored is not stored again');
});

test('the pair is in the commit of the messages that came with it', async () => {
  await using it = await start();
  const { telegram, ledger } = it;
  const group = telegram.group('Kitchen');
  telegram.say(telegram.migrate(group), '/one@svc_test_bot');
  await it.run();
  assert.deepEqual(await it.aliasesOf('/one'), [String(group.id)]);
  const { place, ids } = ledger.commits.find((one) => one.place?.name === 'former_chats')!;
  assert.equal(ids.length, 1);
  assert.equal(JSON.parse(place!.value)[0][1], group.id);
});

test('a bot that was away for a day learns the pair from the refusal of its reply', async () => {
  await using it = await start();
  const { telegram, ledger } = it;
  const group = telegram.group('Kitchen');
  const next = telegram.migrate(group);
  // Nobody polled, and the server keeps updates for a day.
  it.skip(dayMs + 1);
  const { channel } = await it.run();
  const target = targetOf({ chat: group.id, thread: null, replyTo: null });
  const address = { channel: 'messenger_a:1', target };
  const reply = { id: 'r1', text: 'four', address } as unknown as Reply;
  const attempt = { number: 1, possibleDuplicate: false, late: false };
  const outcome = await channel.deliver(reply, attempt, new Stopper());
  assert.equal(outcome.kind, 'delivered');
  assert.equal(telegram.sent[0]?.chatId, next.id);
  await until('the pair is stored', () => ledger.cursors.has('former_chats'));
  telegram.say(next, '/one@svc_test_bot');
  assert.deepEqual(await it.aliasesOf('/one'), [String(group.id)]);
});

test('a pair that could not be stored is stored with the next batch', async () => {
  const ledger = new NotingLedger();
  const chats = new FormerChats();
  await chats.open(ledger.receive);
  ledger.gate = Promise.reject(new Error('the disk is full'));
  chats.learnNow({ from: -5, to: -1_005 });
  await new Promise(setImmediate);
  const { value } = chats.unstored!;
  assert.equal(value, '[[-1005,-5]]');
  chats.stored(chats.unstored);
  assert.equal(chats.unstored, undefined);
  chats.learn({ from: -5, to: -1_005 });
  assert.equal(chats.unstored, undefined, 'it is known');
});

test('the oldest of too many pairs are forgotten; an unreadable cursor holds none', async () => {
  const ledger = new NotingLedger();
  ledger.cursors.set('former_chats', '{"no": "pairs"}');
  const chats = new FormerChats();
  await chats.open(ledger.receive);
  for (let one = 1; one <= 2_001; one++) chats.learn({ from: -one, to: -10_000 - one });
  assert.deepEqual(chats.aliasesOf(-10_001), {});
  assert.deepEqual(chats.aliasesOf(-10_002), { chatAliases: ['-2'] });
});
