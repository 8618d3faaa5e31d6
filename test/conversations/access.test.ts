/** The access to a messenger, from the platform to the reply, with and without storage. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessConfig } from '../../src/config/config.ts';
import type { ConversationId } from '../../src/domain/ids.ts';
import type { Inbound } from '../../src/domain/message.ts';
import { Pairings } from '../../src/pipeline/pairing/pairing.ts';
import { sharedPairings } from '../../src/app/runtime.ts';
import { createAlone } from '../../src/cluster/alone.ts';
import type { Coordination } from '../../src/cluster/cluster.ts';
import {
  echo,
  openHouse,
  openMemory,
  openStorage,
  runningConfigOf,
  until,
} from '../messages/messenger-house.ts';
import { scratch } from '../support/program.ts';

const listed: AccessConfig = { allow: ['1'], groups: 'mention', pairing: false };
const pairing: AccessConfig = { allow: null, groups: 'mention', pairing: true };
const hourMs = 60 * 60_000;
const overheard: Partial<Inbound> = { setting: 'overheard' };

async function house(access: AccessConfig) {
  const clock = { now: Date.now() };
  const ledger = openMemory(clock);
  const it = openHouse(ledger, clock);
  assert.equal(
    await it.host.use(runningConfigOf(it.messenger.bot('77:a'), echo('b'), access)),
    null,
  );
  const { messenger, host } = it;
  const texts = (): readonly string[] => messenger.delivered.map(({ text }) => text);
  const codeOf = async (sender: string): Promise<string> => {
    const said = messenger.delivered.length;
    await messenger.say(sender, 'let me in');
    await until(() => messenger.delivered.length > said);
    return /: ([A-Z0-9]{8})\./.exec(texts().at(-1)!)![1]!;
  };
  return { ...it, ledger, clock, texts, codeOf, end: () => host.drain() };
}

test('a stranger is turned away without a row, and the message is handled', async () => {
  const it = await house(listed);
  const handled = await it.messenger.say('2', 'secret words');
  assert.deepEqual(handled, { kind: 'accepted', receipts: [null] });
  assert.equal(it.ledger.gauges().inboxWaiting + it.ledger.gauges().inboxClaimed, 0);
  await it.messenger.say('1', 'hello');
  await until(() => it.texts().length === 1);
  assert.deepEqual(it.texts(), ['b: hello']);
  const { at, ...row } = it.host.gate.turnedAway[0]!;
  const { key } = it.messenger;
  assert.deepEqual(row, { channel: key, sender: '2', reason: 'stranger', count: 1 });
  assert.equal(at, it.clock.now);
  assert.equal(it.meters.channels.get('messenger_a')?.turnedAway.get('stranger')?.count, 1);
  assert.ok(!JSON.stringify(it.host.gate.turnedAway).includes('secret words'));
  await it.end();
});

test('1,000 of those turned away are told, newest first, each sender once', async () => {
  const it = await house({ ...listed, allow: [] });
  for (let i = 0; i < 1_005; i++) await it.messenger.say(String(i), 'hi');
  await it.messenger.say('10', 'again');
  const { turnedAway } = it.host.gate;
  assert.equal(turnedAway.length, 1_000);
  assert.deepEqual([turnedAway[0]!.sender, turnedAway[0]!.count], ['10', 2]);
  assert.equal(turnedAway.at(-1)!.sender, '5');
  await it.end();
});

test('in a group the words that are for others are not answered, nor kept', async () => {
  const it = await house({ ...listed, allow: null });
  assert.deepEqual(await it.messenger.say('1', 'chatter', overheard), {
    kind: 'accepted',
    receipts: [null],
  });
  await it.messenger.say('1', 'svc?', { setting: 'addressed' });
  await until(() => it.texts().length === 1);
  assert.deepEqual(it.texts(), ['b: svc?']);
  assert.equal(it.host.gate.turnedAway[0]!.reason, 'not_addressed');
  await it.end();
});

test('a code lets a stranger in once the operator takes it, and it is taken once', async () => {
  const it = await house(pairing);
  const code = await it.codeOf('5');
  assert.ok(!it.texts().join().includes('let me in'));
  const spelled = ` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `;
  const admission = await it.host.pairings.admit(spelled);
  assert.ok(admission.kind === 'admitted' && admission.pairing.sender === '5');
  assert.equal((await it.host.pairings.admit(code)).kind, 'not_found');
  await it.messenger.say('5', 'hello');
  await until(() => it.texts().length === 2);
  assert.equal(it.texts()[1], 'b: hello');
  assert.equal(await it.host.pairings.remove('messenger_a', '5'), 'done');
  await it.messenger.say('5', 'still here');
  assert.equal(it.host.gate.turnedAway[0]!.reason, 'code_pending', 'no second code in the hour');
  assert.equal((await it.end()).rows, 0);
});

test('who was let in by another instance may talk once that is told', async () => {
  const clock = { now: Date.now() };
  const ledger = openMemory(clock);
  const cluster = createAlone();
  const it = openHouse(ledger, clock, { cluster });
  await it.host.use(runningConfigOf(it.messenger.bot('77:a'), echo('b'), pairing));
  await it.messenger.say('5', 'let me in');
  await until(() => it.messenger.delivered.length === 1);
  const code = /: ([A-Z0-9]{8})\./.exec(it.messenger.delivered[0]!.text)![1]!;
  const random = (): void => {};
  const elsewhere = sharedPairings(
    { ledger, now: () => clock.now },
    { fillRandom: random, cluster },
  );
  assert.equal((await elsewhere.admit(code)).kind, 'admitted');
  await it.messenger.say('5', 'hello');
  await until(() => it.messenger.delivered.length === 2);
  assert.equal(it.messenger.delivered[1]!.text, 'b: hello');
  await it.host.drain();
});

test('of several instances one alone is connected to an account', async () => {
  const clock = { now: Date.now() };
  const alone = createAlone();
  const posts: string[] = [];
  const free = Promise.withResolvers<void>();
  const withLease: Coordination['withLease'] = async (post, run, wanted) => {
    posts.push(post);
    await free.promise;
    return alone.withLease(post, run, wanted);
  };
  const it = openHouse(openMemory(clock), clock, { cluster: { ...alone, withLease } });
  await it.host.use(runningConfigOf(it.messenger.bot('77:a'), echo('b'), null));
  for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
  assert.deepEqual(posts, [it.messenger.key]);
  assert.equal(it.messenger.counts.runs, 0, 'the post is not its own yet');
  free.resolve();
  await it.messenger.say('1', 'hello');
  await until(() => it.messenger.delivered.length === 1);
  assert.equal(it.messenger.counts.runs, 1);
  await it.host.drain();
});

test('a code typed into the chat lets nobody in', async () => {
  const it = await house(pairing);
  const code = await it.codeOf('5');
  await it.messenger.say('5', code);
  await it.messenger.say('5', `svc pair ${code}`);
  assert.equal(it.host.gate.turnedAway[0]!.count, 2);
  assert.deepEqual(
    (await it.host.pairings.list()).map(({ state }) => state),
    ['asking'],
  );
  assert.equal(it.texts().length, 1);
  await it.end();
});

test('a stranger has one code, for an hour', async () => {
  const it = await house(pairing);
  const codes = [await it.codeOf('1'), await it.codeOf('2'), await it.codeOf('3')];
  assert.equal(new Set(codes).size, 3);
  const again = await it.messenger.say('1', 'again');
  assert.deepEqual(again, { kind: 'accepted', receipts: [null] });
  assert.equal(it.host.gate.turnedAway[0]!.reason, 'code_pending');
  it.clock.now += hourMs;
  assert.equal((await it.host.pairings.admit(codes[0]!)).kind, 'not_found');
  assert.deepEqual(await it.host.pairings.list(), []);
  assert.notEqual(await it.codeOf('4'), codes[0]);
  await it.end();
});

test('no code is given in a group, and none to who is on the list', async () => {
  const it = await house({ ...pairing, allow: ['1'] });
  await it.messenger.say('5', 'hi', { setting: 'addressed' });
  assert.equal(it.host.gate.turnedAway[0]!.reason, 'stranger');
  await it.messenger.say('1', 'hi');
  await until(() => it.texts().length === 1);
  assert.deepEqual(it.texts(), ['b: hi']);
  await it.end();
});

test('a code that could not be written down was not given', async () => {
  const it = await house(pairing);
  it.ledger.closeIntake();
  const handled = await it.messenger.say('5', 'hi');
  assert.equal(handled.kind, 'refused');
  assert.deepEqual(await it.host.pairings.list(), []);
  await it.end();
});

test('with storage the code, the admitted and the silence outlive the process', async () => {
  await using folder = await scratch();
  const clock = { now: Date.now() };
  const first = openHouse(await openStorage(folder.path, clock), clock);
  await first.host.use(runningConfigOf(first.messenger.bot('77:a'), echo('b'), pairing));
  for (const sender of ['5', '6']) await first.messenger.say(sender, 'hello');
  await until(() => first.messenger.delivered.length === 2);
  // Conversations are independent, so another's reply may be delivered first.
  const ofFive = first.messenger.delivered.find(({ conversation }) => conversation === '5');
  const code = /: ([A-Z0-9]{8})\./.exec(ofFive!.text)![1]!;
  await first.host.drain();

  // While svc is stopped: the ledger alone.
  const ledger = await openStorage(folder.path, clock);
  const turnContext = new Pairings(
    ledger,
    () => clock.now,
    () => {},
  );
  assert.equal((await turnContext.admit(code)).kind, 'admitted');
  await ledger[Symbol.asyncDispose]();

  const again = openHouse(await openStorage(folder.path, clock), clock);
  await again.host.use(runningConfigOf(again.messenger.bot('77:a'), echo('b'), pairing));
  await again.messenger.say('6', 'anyone?', { dedupeKey: 'another' });
  await again.messenger.say('5', 'hello', { dedupeKey: 'one more' });
  await until(() => again.messenger.delivered.length === 1);
  assert.equal(again.messenger.delivered[0]!.text, 'b: hello');
  assert.equal(again.host.gate.turnedAway[0]!.reason, 'code_pending');
  const rows = await again.host.pairings.list();
  assert.deepEqual(
    rows.map(({ sender, name, state }) => `${sender} ${name} ${state}`),
    ['5 Name of 5 admitted', '6 Name of 6 asking'],
  );
  await again.host.drain();
});

test('a code that was accepted and not yet sent is sent after the next start', async () => {
  await using folder = await scratch();
  const clock = { now: Date.now() };
  const ledger = await openStorage(folder.path, clock);
  const { messenger } = openHouse(ledger, clock);
  const inbound = {
    channel: messenger.key,
    conversation: '5' as ConversationId,
    sender: { id: '5', name: null },
    text: '',
    media: null,
    address: { channel: messenger.key, target: '5' },
    dedupeKey: '1',
    pairingCode: 'ACDEFGHJ',
  };
  assert.equal((await ledger.accept([inbound])).kind, 'accepted');
  await ledger[Symbol.asyncDispose]();
  const again = openHouse(await openStorage(folder.path, clock), clock);
  await again.host.use(runningConfigOf(again.messenger.bot('77:a'), echo('b'), pairing));
  await until(() => again.messenger.delivered.length === 1);
  assert.match(again.messenger.delivered[0]!.text, /ACDEFGHJ/);
  await again.host.drain();
});
