/** A connection that fails, falls silent or sends nonsense, and its health. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { said, startDiscordBench } from '../../../test/fake/discord-bench.ts';
import { fromNow, handClock } from '../../../test/support/hand-clock.ts';
import { PingMonitor } from '../messenger/ping-monitor.ts';
import { connectionLimits } from './connection.ts';

test('a platform that cannot be reached at the start is tried until it can', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.gatewayAnswers.push({ status: 502 }, { status: 429, headers: { 'retry-after': '0' } });
  discord.unreachable = true;
  const { channel } = await bench.run();
  await discord.until(() => discord.refusedSockets > 1);
  assert.equal(channel.health().state, 'degraded');
  discord.unreachable = false;
  await discord.until(() => channel.health().state === 'up');
});

test('a gateway that says nothing is given up, and another connection is made', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.greets = false;
  let skippedMs = 0;
  const limits = { connectMs: 30_000 };
  const { channel } = await bench.run({ limits, steady: () => fromNow(skippedMs) });
  await discord.until(() => discord.connections === 1);
  // The next connection follows at once.
  discord.greets = true;
  skippedMs = 31_000;
  await discord.until(() => channel.health().state === 'up');
  assert.match(JSON.stringify(bench.calls), /its gateway was not ready within 30 s/);
});

// discord.js#4095, openclaw#111577: resumed, closed, resumed, closed, twice a second for hours.
test('a gateway that closes each connection soon after READY gets pauses', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.always = 'brief';
  await bench.run();
  const asked = (): number => discord.calls.filter(({ path }) => path.endsWith('bot')).length;
  await discord.until(() => asked() > 1);
  assert.match(JSON.stringify(bench.calls), /its gateway closed the connection 5 times \(4000\)/);
  assert.equal(discord.sessions, 1, 'the session goes on');
  discord.always = 'well';
  await discord.until(() => discord.sockets.length === 1);
});

test('a silent connection is given up: health is the last answer, not a flag', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  const { channel } = await bench.run({ limits: { silentMs: 100 } });
  await discord.until(() => /no heartbeat was answered/.test(channel.health().reason ?? ''));
  await discord.until(() => discord.framesOf(6).length > 0);
});

test('silence on an open connection is told before a heartbeat is due, and its end', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  const { channel } = await bench.run({ limits: { quietMs: 150 } });
  await discord.until(() => discord.pings > 1 && channel.health().state === 'up');
  discord.holdAll();
  await discord.until(() => channel.health().state === 'degraded');
  const { reason, since } = channel.health();
  assert.equal(reason, 'its gateway is silent: check the network');
  assert.ok(since <= Date.now() - 150, 'it began when the last of it came');
  discord.goOn();
  await discord.until(() => channel.health().state === 'up');
  assert.deepEqual(discord.closeCodes, [], 'it is the same connection');
});

test('a gateway that answers no ping is judged by its heartbeats alone', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.pongs = false;
  const { channel } = await bench.run({ limits: { quietMs: 50 } });
  await discord.until(() => discord.pings > 10);
  assert.equal(channel.health().state, 'up');
});

test('within 15 seconds of the last that came, silence is told', () => {
  const clock = handClock(1_000_000);
  const told: (number | null)[] = [];
  const pingMonitor = new PingMonitor(clock.steady, connectionLimits, (ms) => told.push(ms));
  let pong = (): void => {};
  let answers = true;
  const socket = {
    readyState: 1,
    on: (_event: 'pong', heard: () => void) => (pong = heard),
    ping: () => void (answers && pong()),
  };
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += connectionLimits.tickMs) {
      clock.pass(connectionLimits.tickMs);
      pingMonitor.heartbeat(socket);
    }
  };
  pass(60_000);
  assert.deepEqual(told, []);
  answers = false;
  clock.pass(4_999);
  pingMonitor.noteSign();
  clock.pass(1);
  pingMonitor.heartbeat(socket);
  pass(10_000);
  assert.deepEqual(told, [10_001]);
  pingMonitor.noteSign();
  assert.deepEqual(told, [10_001, null]);
  answers = true;
  pass(10_000);
  // The process stood still, and has not read the answers of that time yet.
  answers = false;
  clock.pass(60_000);
  pingMonitor.heartbeat(socket);
  assert.deepEqual(told, [10_001, null]);
});

test('a process that stood still makes its connection anew', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  let skippedMs = 0;
  const { channel } = await bench.run({ now: () => Date.now() + skippedMs });
  await discord.until(() => channel.health().state === 'up');
  skippedMs = 120_000;
  await discord.until(() => discord.framesOf(6).length === 1 && channel.health().state === 'up');
  assert.deepEqual(discord.closeCodes, [4200]);
});

test('frames of any shape end at most the connection, never the process', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  const { channel } = await bench.run();
  const stands = (): Promise<void> =>
    discord.until(() => channel.health().state === 'up' && discord.sockets.length === 1);
  const ending = [{ op: 10, d: null }, { op: 9 }, { op: 0, t: 'READY', s: 1, d: null }];
  for (const [ended, frame] of ending.entries()) {
    await stands();
    discord.send(frame);
    await discord.until(() => discord.closeCodes.length > ended);
  }
  await stands();
  const harmless = [{ op: 0, t: 'MESSAGE_CREATE', s: 2, d: null }, { op: 99 }, [], 'text', 7];
  for (const frame of harmless) discord.send(frame);
  discord.sendText('{not json');
  // The server asks for a heartbeat, so the test sees how far the client has read.
  discord.send({ op: 1, d: null });
  const beaten = discord.framesOf(1).length;
  await discord.until(() => discord.framesOf(1).length > beaten);
  assert.equal(discord.closeCodes.length, ending.length);
  discord.dispatch('MESSAGE_CREATE', said('still here'));
  await discord.until(() => ledger.texts.length === 1);
});

test('it stops at once while a connection is being made', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.hangs = true;
  const { channel, stop } = await bench.run();
  await discord.until(() => discord.refusedSockets === 1);
  await stop();
  assert.equal(channel.health().state, 'stopped');
});

test('a handshake that hangs and breaks off later ends no process', async () => {
  await using bench = await startDiscordBench();
  const { discord } = bench;
  discord.hangs = true;
  let skippedMs = 0;
  const { channel } = await bench.run({ steady: () => fromNow(skippedMs) });
  await discord.until(() => discord.refusedSockets === 1);
  skippedMs = 61_000;
  await discord.until(() => discord.refusedSockets === 2);
  discord.hangs = false;
  discord.breakHanging();
  await discord.until(() => channel.health().state === 'up');
  assert.match(JSON.stringify(bench.calls), /its gateway was not ready within 60 s/);
});
