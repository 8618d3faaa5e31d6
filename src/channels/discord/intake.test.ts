/** Taking messages in: in order, without room, and after a lost session. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { said, startDiscordBench } from '../../../test/fake/discord-bench.ts';

const group = '290926798999357250';
const inGroup = { guild_id: '290926798626357999', channel_id: group };
const full = { kind: 'refused', reason: 'full', retryAfterMs: 10 } as const;

test('a full ledger: nothing is acknowledged, and with room it goes on where it was', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  const { channel } = await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  ledger.refusals.push(full);
  discord.dispatch('MESSAGE_CREATE', said('one'));
  discord.dispatch('MESSAGE_CREATE', said('two'));
  await discord.until(() => discord.closeCodes.length === 1);
  assert.deepEqual(discord.closeCodes, [4200]);
  await discord.until(() => /no room/.test(channel.health().reason ?? ''));
  discord.dispatch('MESSAGE_CREATE', said('three'));
  assert.deepEqual([ledger.texts, ledger.session.sequence], [[], 1]);
  const connections = discord.frames.length;
  await discord.until(() => ledger.waiting);
  assert.equal(discord.frames.length, connections, 'it waits for room without a connection');
  ledger.makeRoom();
  await discord.until(() => ledger.texts.length === 3);
  assert.deepEqual(ledger.texts, ['one', 'two', 'three']);
  assert.deepEqual(
    discord.framesOf(6).map(({ d }) => d['seq']),
    [1],
  );
});

test('no batch is larger than the room that there is', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  ledger.free = 2;
  const storing = Promise.withResolvers<void>();
  ledger.gate = storing.promise;
  for (let n = 1; n <= 7; n++) discord.dispatch('MESSAGE_CREATE', said(`message ${n}`));
  storing.resolve();
  await discord.until(() => ledger.texts.length === 7);
  assert.ok(ledger.commits.every(({ ids }) => ids.length <= 2));
});

test('while the ledger is shutting down nothing is taken, and nothing is connected', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  const { stop } = await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  ledger.refusals.push({ ...full, reason: 'shutting_down' });
  discord.dispatch('MESSAGE_CREATE', said('too late'));
  await discord.until(() => discord.closeCodes.length === 1);
  await stop();
  assert.deepEqual([discord.closeCodes, discord.framesOf(6).length], [[4200], 0]);
  assert.equal(ledger.session.sequence, 1);
});

test('more than may wait is asked for again, and each connection comes further', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  const storing = Promise.withResolvers<void>();
  ledger.gate = storing.promise;
  const count = 3_500;
  for (let n = 1; n <= count; n++) discord.dispatch('MESSAGE_CREATE', said(`message ${n}`));
  await discord.until(() => discord.closeCodes.length === 1);
  storing.resolve();
  ledger.hasRoom = true;
  await discord.until(() => ledger.texts.length === count);
  // Each connection stores as many events as may wait: 1,000.
  assert.ok(discord.framesOf(6).length <= 4);
  const inOrder = Array.from({ length: count }, (_, index) => `message ${index + 1}`);
  assert.deepEqual(ledger.texts, inOrder);
});

test('what is said to others passes the gate alone, and costs no commit', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  const overheard = said('among ourselves', inGroup);
  discord.dispatch('MESSAGE_CREATE', overheard);
  await discord.until(() => ledger.commits.some(({ ids }) => ids.includes(overheard.id)));
  const commit = ledger.commits.find(({ ids }) => ids.includes(overheard.id));
  assert.equal(commit?.place, undefined);
  discord.closeAll(4000);
  await discord.until(() => discord.framesOf(6).length === 1);
  // In this process the message counts as handled, although no commit stored its place.
  assert.equal(discord.framesOf(6)[0]?.d['seq'], 2);
});

/** Stores one message in each of two channels; then Discord loses the session. */
async function startLost() {
  const bench = await startDiscordBench();
  const { discord, ledger } = bench;
  const run = await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  const mention = { mentions: [{ id: '1203948576201938475' }] };
  const before = [said('direct'), said('in a group', { ...inGroup, ...mention })];
  for (const message of before) discord.dispatch('MESSAGE_CREATE', message);
  await discord.until(() => ledger.texts.length === 2 && ledger.cursors.has('places'));
  const missed = (texts: readonly string[], more: Record<string, unknown> = {}): void => {
    const messages = texts.map((text) => said(text, more));
    const place = messages[0]!['channel_id'] as string;
    // A fetched message does not name its server.
    const fetched = messages.map((message) => ({ ...message, guild_id: undefined }));
    discord.history.set(place, [...(discord.history.get(place) ?? []), ...fetched]);
  };
  const loseSession = (): void => {
    discord.welcomes.push('invalid');
    discord.closeAll(4000);
  };
  return { bench, discord, ledger, run, before, missed, loseSession, mention };
}

test('what a lost session left behind is fetched, oldest first, before what is new', async () => {
  const { bench, discord, ledger, before, missed, loseSession, mention } = await startLost();
  await using _ = bench;
  discord.history.set('319674150115610528', [before[0]!]);
  missed(['second', 'third']);
  missed(['overheard'], inGroup);
  missed(['to us'], { ...inGroup, ...mention });
  loseSession();
  await discord.until(() => discord.sessions === 2);
  const live = said('fourth');
  discord.dispatch('MESSAGE_CREATE', live);
  await discord.until(() => ledger.texts.includes('fourth'));
  const direct = ledger.messages.filter(({ setting }) => setting === 'direct');
  assert.deepEqual(
    direct.map(({ text }) => text),
    ['direct', 'second', 'third', 'fourth'],
  );
  const addressed = ledger.messages.filter(({ setting }) => setting === 'addressed');
  assert.deepEqual(
    addressed.map(({ text }) => text),
    ['in a group', 'to us'],
  );
  assert.deepEqual([ledger.session.id, ledger.session.newest], ['session-2', live.id]);
  const noticed = bench.calls.find(([name]) => name === 'noticed')?.[1] as { details: unknown };
  assert.deepEqual(noticed.details, { messages: 3 });
});

test('the new session is kept only once everything is fetched', async () => {
  const { bench, discord, ledger, missed, loseSession } = await startLost();
  await using _ = bench;
  missed(['second']);
  ledger.refusals.push(full);
  loseSession();
  await discord.until(() => ledger.waiting);
  assert.equal(ledger.session.id, 'session-1');
  ledger.makeRoom();
  await discord.until(() => ledger.session.id === 'session-2');
  assert.ok(ledger.texts.includes('second'));
});

test('what is over the cap is left out and counted', async () => {
  const { bench, discord, ledger, missed, loseSession } = await startLost();
  await using _ = bench;
  missed(Array.from({ length: 450 }, (__, index) => `missed ${index + 1}`));
  loseSession();
  await discord.until(() => ledger.session.id === 'session-2');
  const fetched = ledger.texts.filter((text) => text.startsWith('missed'));
  assert.deepEqual([fetched.length, fetched.at(-1)], [300, 'missed 300']);
  const warned = bench.calls.find(([name]) => name === 'warned')?.[1] as { message: string };
  assert.match(warned.message, /100 messages or more were left out, and 0 channels/);
});

test('a limit is waited for, and a channel closed to us is counted and forgotten', async () => {
  const { bench, discord, ledger, missed, loseSession } = await startLost();
  await using _ = bench;
  missed(['second']);
  const limited = { status: 429, headers: { 'retry-after': '0.05' }, body: { retry_after: 0.05 } };
  // svc asks the newest channel first: the group.
  discord.gets.push(limited, { status: 403, body: { code: 50_001 } });
  loseSession();
  await discord.until(() => ledger.session.id === 'session-2');
  assert.ok(ledger.texts.includes('second'));
  const warned = bench.calls.find(([name]) => name === 'warned')?.[1] as { message: string };
  assert.match(warned.message, /0 messages or more were left out, and 1 channels/);
});

// nirn-proxy#14, discord-api-docs#849: for hours a firewall refused what Discord allows.
test('a page of a firewall closes no channel: it is asked again', async () => {
  const { bench, discord, ledger, missed, loseSession } = await startLost();
  await using _ = bench;
  missed(['second']);
  const refused = { status: 403, body: { code: 40_333, message: 'internal network error' } };
  discord.gets.push({ status: 403, body: '<title>Attention Required!</title>' }, refused);
  loseSession();
  await discord.until(() => ledger.session.id === 'session-2');
  assert.ok(ledger.texts.includes('second'));
  assert.ok(bench.calls.every(([name]) => name !== 'warned'));
});

test('without a place to begin from nothing is fetched', async () => {
  await using bench = await startDiscordBench();
  const { discord, ledger } = bench;
  await bench.run();
  await discord.until(() => ledger.cursors.has('session'));
  assert.ok(discord.calls.every(({ path }) => !path.includes('?after=')));
});
