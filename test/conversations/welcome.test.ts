/** A newly admitted person gets one welcome: over restarts, and with other writers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessConfig } from '../../src/config/config.ts';
import type { ConversationId } from '../../src/domain/ids.ts';
import { Pairings } from '../../src/pipeline/pairing/pairing.ts';
import { keepWelcoming } from '../../src/app/approval-upkeep.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { noteEvents } from '../fake/webhook.ts';
import {
  echo,
  openHouse,
  openMemory,
  openStorage,
  runningConfigOf,
  until,
  welcomeOn,
  type Clock,
} from '../messages/messenger-house.ts';
import { scratch } from '../support/program.ts';

const pairing: AccessConfig = { allow: null, groups: 'mention', pairing: true };
const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);

/** @param reaches false: the platform does not say where a person can be reached */
async function house(ledger: Ledger, clock: Clock, reaches = () => true) {
  const it = openHouse(ledger, clock);
  const { messenger, host } = it;
  const asked: string[] = [];
  const bot = Object.assign(messenger.bot('77:a'), {
    async direct(user: string) {
      asked.push(user);
      if (!reaches()) return null;
      const conversation = user as ConversationId;
      return { conversation, address: { channel: messenger.key, target: user } };
    },
  });
  assert.equal(await host.use(runningConfigOf(bot, echo('b'), pairing)), null);
  const { events } = noteEvents();
  const end = keepWelcoming({ events, now: () => clock.now, runtime: host });
  const texts = (): readonly string[] => messenger.delivered.map(({ text }) => text);
  return {
    ...it,
    asked,
    texts,
    async codeOf(sender: string): Promise<string> {
      const before = messenger.delivered.length;
      await messenger.say(sender, 'let me in');
      await until(() => messenger.delivered.length > before);
      return /: ([A-Z0-9]{8})\./.exec(texts().at(-1)!)![1]!;
    },
    async end() {
      end();
      await host.drain();
    },
  };
}

const welcomes = (texts: readonly string[]): number =>
  texts.filter((text) => text.startsWith('You are in')).length;

test('who was let in is told in their own chat, before what they write next', async () => {
  const clock = { now: Date.now() };
  const it = await house(openMemory(clock), clock);
  const code = await it.codeOf('5');
  assert.equal((await it.host.pairings.admit(code)).kind, 'admitted');
  await until(() => welcomes(it.texts()) === 1);
  const told = it.messenger.delivered.at(-1)!;
  assert.deepEqual([told.conversation, told.address.target], ['5', '5']);
  await it.messenger.say('5', 'hello');
  await until(() => it.texts().length === 3);
  assert.equal(it.texts()[2], 'b: hello');
  await it.end();
});

test('it outlives the process that let them in, and comes once', async () => {
  await using folder = await scratch();
  const clock = { now: Date.now() };
  {
    const it = await house(await openStorage(folder.path, clock), clock);
    const code = await it.codeOf('5');
    await it.end();
    // As `svc pair` does while svc is stopped.
    const ledger = await openStorage(folder.path, clock);
    const pairings = new Pairings(ledger, () => clock.now, random);
    assert.equal((await pairings.admit(code)).kind, 'admitted');
    await ledger[Symbol.asyncDispose]();
  }
  for (const run of [1, 2]) {
    const it = await house(await openStorage(folder.path, clock), clock);
    if (run === 1) await until(() => welcomes(it.texts()) === 1);
    await it.messenger.say('5', `hello ${run}`, { dedupeKey: `hello ${run}` });
    await until(() => it.texts().at(-1) === `b: hello ${run}`);
    assert.equal(welcomes(it.texts()), run === 1 ? 1 : 0);
    await it.end();
  }
});

test('of two who owe it at the same time one alone writes it', async () => {
  const clock = { now: Date.now() };
  const ledger = openMemory(clock);
  const it = await house(ledger, clock, () => false);
  const code = await it.codeOf('5');
  await it.host.pairings.admit(code);
  const pair = [1, 2].map(() => new Pairings(ledger, () => clock.now, random));
  const owed = await Promise.all(pair.map((one) => one.unwelcomed('messenger_a')));
  const ids = new Set<string>();
  const message = welcomeOn(it.messenger.key);
  const accepted = ({ id }: { id: string }): void => void ids.add(id);
  await Promise.all(pair.map((one, at) => one.welcome(owed[at]![0]!, { message, accepted })));
  assert.equal(ids.size, 1);
  await until(() => welcomes(it.texts()) === 1);
  await it.end();
});

test('who cannot be told within a day is not told, and who was removed is not either', async () => {
  const clock = { now: Date.now() };
  let reaches = false;
  const it = await house(openMemory(clock), clock, () => reaches);
  const { pairings } = it.host;
  const [first, second] = [await it.codeOf('5'), await it.codeOf('6')];
  await pairings.admit(first);
  await until(() => it.asked.length > 0);
  assert.equal((await pairings.unwelcomed('messenger_a')).length, 1, 'it is owed');
  clock.now += 25 * 3_600_000;
  reaches = true;
  pairings.onAdmitted!();
  while ((await pairings.unwelcomed('messenger_a')).length > 0) await new Promise(setImmediate);
  assert.equal((await pairings.admit(second)).kind, 'not_found', 'its hour is over');
  const third = await it.codeOf('7');
  pairings.onAdmitted = null;
  await pairings.admit(third);
  assert.equal(await pairings.remove('messenger_a', '7'), 'done');
  assert.deepEqual(await pairings.unwelcomed('messenger_a'), []);
  assert.equal(welcomes(it.texts()), 0);
  await it.end();
});
