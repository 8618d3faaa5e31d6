/** Connections to a platform while the configuration changes, and when one of them is faulty. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccessConfig, SessionConfig } from '../../src/config/config.ts';
import { openAccess } from '../../src/pipeline/gate.ts';
import { RunningConfig } from '../../src/app/running-config.ts';
import { brainsByName, FakePlatform, routed } from '../fake/channel.ts';
import { echo, openHouse, openMemory, runningConfigOf, until } from './messenger-house.ts';

const clock = { now: Date.now() };
const house = () => openHouse(openMemory(clock), clock);
const idle: SessionConfig = { triggers: [], dailyAtMinute: null, idleMinutes: 5, recallMax: 0 };

test('a new configuration with the same token and settings keeps the connection', async () => {
  const { host, messenger } = house();
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('one'), openAccess));
  const said: Promise<unknown>[] = [];
  for (let i = 0; i < 200; i++) said.push(messenger.say(`c${i % 20}`, String(i)));
  for (const name of ['two', 'three']) {
    assert.equal(
      await host.use(runningConfigOf(messenger.bot('77:a'), echo(name), openAccess)),
      null,
    );
    assert.equal(host.runningConfig?.channels[0]?.channel.health().state, 'up');
  }
  await Promise.all(said);
  await messenger.say('last', 'x');
  await until(() => messenger.delivered.length === 201);
  assert.deepEqual(messenger.counts, { opened: 1, runs: 1, closed: 2, fetchingMost: 1 });
  const last = messenger.delivered.find(({ conversation }) => conversation === 'last');
  assert.equal(last?.text, 'three: x');
  assert.equal((await host.drain()).rows, 0);
  assert.equal(messenger.counts.closed, 3, 'the two that were never opened, and the kept one');
});

test('the rules of the new configuration hold on the connection that was kept', async () => {
  const { host, messenger } = house();
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('one'), openAccess));
  const nobody: AccessConfig = { ...openAccess, allow: [] };
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('two'), nobody));
  assert.deepEqual(await messenger.say('1', 'hi'), { kind: 'accepted', receipts: [null] });
  await host.drain();
});

test('with other settings the old connection ends before the new one begins', async () => {
  const { host, messenger } = house();
  await host.use(runningConfigOf(messenger.bot('77:a', 'here'), echo('one'), openAccess));
  const said: Promise<unknown>[] = [];
  for (let i = 0; i < 200; i++) said.push(messenger.say(`c${i % 20}`, String(i)));
  await host.use(runningConfigOf(messenger.bot('77:a', 'there'), echo('two'), openAccess));
  await host.use(runningConfigOf(messenger.bot('77:b', 'there'), echo('three'), openAccess));
  await Promise.all(said);
  await until(() => messenger.delivered.length === 200);
  assert.equal(messenger.counts.fetchingMost, 1);
  assert.equal(new Set(messenger.delivered.map(({ text }) => text.split(' ')[1])).size, 200);
  await host.drain();
  assert.equal(messenger.counts.closed, 3);
});

test('a connection that comes back waits for the one of two plans ago', async () => {
  const { host, messenger } = house();
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('one'), openAccess));
  await messenger.say('1', 'hi');
  await host.use(new RunningConfig('without', [], new Map()));
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('three'), openAccess));
  await messenger.say('1', 'again');
  await until(() => messenger.delivered.length === 2);
  assert.equal(messenger.counts.fetchingMost, 1);
  assert.equal(messenger.delivered[1]!.text, 'three: again');
  await host.drain();
});

test('a configuration that cannot be opened leaves the connection where it was', async () => {
  const { host, messenger } = house();
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('one'), openAccess));
  const problem = { kind: 'problem', code: 'broken', message: 'made to fail' } as const;
  const hopeless = new FakePlatform().channel(problem);
  const two = echo('two');
  const broken = new RunningConfig(
    'broken',
    [
      routed('messenger_a', messenger.bot('77:a'), two, { access: openAccess }),
      routed('webhook', hopeless, two),
    ],
    brainsByName(two),
  );
  assert.equal((await host.use(broken))?.code, 'broken');
  assert.equal(messenger.counts.closed, 1, 'only the one that was never opened');
  await messenger.say('1', 'hi');
  await until(() => messenger.delivered.length === 1);
  assert.equal(messenger.delivered[0]!.text, 'one: hi');
  await host.drain();
});

test('a connection that failed for good is made anew by the next configuration', async () => {
  const { host, messenger } = house();
  const health = () => host.runningConfig!.channels[0]!.channel.health();
  messenger.refuses = true;
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('one'), openAccess));
  assert.equal(health().state, 'failed');
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('two'), openAccess));
  await until(() => messenger.counts.runs === 2);
  assert.equal(health().state, 'failed', 'the platform still refuses it');
  messenger.refuses = false;
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('three'), openAccess));
  await messenger.say('1', 'hi');
  await until(() => messenger.delivered.length === 1);
  assert.equal(messenger.delivered[0]!.text, 'three: hi');
  assert.equal(health().state, 'up');
  assert.equal(messenger.counts.fetchingMost, 1);
  await host.drain();
  assert.equal(messenger.counts.closed, 3);
});

test('a channel with a malformed token is failed, and the others work', async () => {
  const { host, messenger } = house();
  const platform = new FakePlatform();
  const brain = echo('one');
  const channels = [
    routed('messenger_a', messenger.bot('no token'), brain, { access: openAccess }),
    routed('webhook', platform.channel(), brain),
  ];
  const runningConfig = new RunningConfig('mixed', channels, brainsByName(brain));
  assert.equal(await host.use(runningConfig), null);
  await platform.say('ada', 'hi');
  await until(() => platform.delivered.length === 1);
  const { state, reason } = host.runningConfig!.channels[0]!.channel.health();
  assert.equal(state, 'failed');
  assert.match(reason ?? '', /BOT_TOKEN/);
  assert.equal(messenger.counts.runs, 0);
  await host.use(runningConfigOf(messenger.bot('77:a'), brain, openAccess));
  await messenger.say('1', 'better');
  await until(() => messenger.delivered.length === 1);
  await host.drain();
});

test('an automatic cut is said in one line, where the wire has no field for it', async () => {
  const time = { now: Date.now() };
  const { host, messenger } = openHouse(openMemoryWithPast(time), time);
  await host.use(runningConfigOf(messenger.bot('77:a'), echo('b'), openAccess, idle));
  await messenger.say('1', 'hello');
  await until(() => messenger.delivered.length === 1);
  assert.deepEqual(
    messenger.delivered.map(({ text, sessionStarted }) => [text, sessionStarted]),
    [['(New session: it was quiet for a while.)\n\nb: hello', 'idle']],
  );
  await host.use(runningConfigOf(messenger.bot('77:a', 'x', true), echo('b'), openAccess, idle));
  await messenger.say('1', 'hello');
  await until(() => messenger.delivered.length === 2);
  assert.equal(messenger.delivered[1]!.text, 'b: hello');
  assert.equal(messenger.delivered[1]!.sessionStarted, 'idle');
  await host.drain();
});

/** A ledger in which every conversation had its last message an hour ago. */
function openMemoryWithPast(time: { now: number }) {
  const ledger = openMemory(time);
  const claim = ledger.claim.bind(ledger);
  ledger.claim = (async (box: 'in', channel, n) => {
    const claims = await claim(box, channel, n);
    const memory = {
      session: { number: 1, startedAt: 0 },
      turns: [],
      previousAt: time.now - 60 * 60_000,
      empty: false,
    };
    for (const one of claims) if (one.box === 'in') Object.assign(one, { memory });
    return claims;
  }) as typeof ledger.claim;
  return ledger;
}
