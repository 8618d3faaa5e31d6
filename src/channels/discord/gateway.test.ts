/** How svc keeps the gateway's connection, resumes it, gives it up and begins a new one. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { SteadyTime } from '../../lib/clock.ts';
import { said, startDiscordBench } from '../../../test/fake/discord-bench.ts';
import { botToken } from '../../../test/fake/scripted-discord.ts';
import { fromNow } from '../../../test/support/hand-clock.ts';

const resumeFrom = (frame: { d: Record<string, unknown> } | undefined): unknown => frame?.d['seq'];

// Each test has a gateway of its own, and mostly waits to connect again.
suite('the gateway', { concurrency: true }, () => {
  test('it identifies with the four intents, and stops so that it can be resumed', async () => {
    await using bench = await startDiscordBench();
    const { discord } = bench;
    const { channel, stop } = await bench.run();
    await discord.until(() => channel.health().state === 'up');
    const [identify] = discord.framesOf(2);
    assert.equal(identify?.d['intents'], 1 + 512 + 4_096 + 32_768);
    assert.equal(identify?.d['token'], botToken);
    assert.ok(channel.health().lastSeenAt !== null);
    await stop();
    await discord.until(() => discord.closeCodes.length === 1);
    assert.deepEqual(discord.closeCodes, [4200]);
    assert.equal(channel.health().state, 'stopped');
  });

  test('a restart resumes behind the last message that was committed', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const first = await bench.run();
    await discord.until(() => discord.sockets.length === 1);
    discord.dispatch('MESSAGE_CREATE', said('one'));
    await discord.until(() => ledger.texts.length === 1);
    await first.stop();
    discord.dispatch('MESSAGE_CREATE', said('said while nobody was there'));
    await bench.run();
    await discord.until(() => ledger.texts.length === 2);
    assert.deepEqual(ledger.texts, ['one', 'said while nobody was there']);
    assert.deepEqual(discord.framesOf(6).map(resumeFrom), [2]);
    assert.equal(discord.framesOf(2).length, 1);
  });

  test('a message and the sequence behind it are one commit', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    await bench.run();
    await discord.until(() => discord.sockets.length === 1);
    const message = said('one');
    const sequence = discord.dispatch('MESSAGE_CREATE', message);
    await discord.until(() => ledger.texts.length === 1);
    const commit = ledger.commits.find(({ ids }) => ids.includes(message.id));
    assert.equal(commit?.place?.name, 'session');
    const kept = JSON.parse(commit.place.value) as Record<string, unknown>;
    assert.deepEqual([kept['sequence'], kept['newest']], [sequence, message.id]);
  });

  test('what was received and is not committed is asked for again', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    const storing = Promise.withResolvers<void>();
    ledger.gate = storing.promise;
    discord.dispatch('MESSAGE_CREATE', said('one'));
    discord.dispatch('MESSAGE_CREATE', said('two'));
    discord.closeAll(4000);
    await discord.until(() => discord.framesOf(6).length === 1);
    assert.equal(resumeFrom(discord.framesOf(6)[0]), 1);
    storing.resolve();
    await discord.until(() => ledger.texts.length === 2 && ledger.session.sequence === 3);
    assert.deepEqual(ledger.texts, ['one', 'two']);
  });

  test('heartbeats tell the committed sequence, too', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    discord.heartbeatMs = 200;
    const { channel } = await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    const storing = Promise.withResolvers<void>();
    ledger.gate = storing.promise;
    discord.dispatch('MESSAGE_CREATE', said('one'));
    const before = discord.framesOf(1).length;
    await discord.until(() => discord.framesOf(1).length > before + 2);
    assert.ok(discord.framesOf(1).every(({ d }) => ((d as unknown as number) ?? 1) === 1));
    storing.resolve();
    await discord.until(() => (discord.framesOf(1).at(-1)?.d as unknown) === 2);
    // On a busy machine a late answer costs a connection; svc then makes a new one.
    await discord.until(() => channel.health().state === 'up');
  });

  test('op 7, a resumable op 9 and a missing heartbeat answer end in a resume', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const { channel } = await bench.run();
    await discord.until(() => discord.sockets.length === 1);
    discord.dispatch('MESSAGE_CREATE', said('one'));
    await discord.until(() => ledger.texts.length === 1);

    discord.send({ op: 7, d: null });
    await discord.until(() => discord.framesOf(6).length === 1 && channel.health().state === 'up');

    discord.welcomes.push('resumable');
    discord.closeAll(4000);
    await discord.until(() => discord.framesOf(6).length === 3 && channel.health().state === 'up');

    discord.heartbeatMs = 30;
    discord.acknowledges = false;
    discord.closeAll(4000);
    await discord.until(() => discord.framesOf(6).length === 4);
    // The next connection has slow heartbeats, so that it stays.
    discord.heartbeatMs = 60_000;
    await discord.until(() => discord.framesOf(6).length === 5);
    discord.acknowledges = true;
    await discord.until(() => channel.health().state === 'up');
    assert.ok(discord.framesOf(6).every((frame) => resumeFrom(frame) === 2));
    assert.equal(discord.framesOf(2).length, 1);
  });

  test('three op 9 that call the session resumable end it all the same', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    discord.welcomes.push('resumable', 'resumable', 'resumable');
    discord.send({ op: 9, d: true });
    await discord.until(() => discord.sessions === 2);
    assert.equal(discord.framesOf(6).length, 3);
    assert.ok(discord.closeCodes.every((code) => code === 4200));
  });

  test('op 9 is followed by a pause of 1 to 5 seconds', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    await bench.run({ limits: { spacingMs: 5_000 }, random: () => 0 });
    await discord.until(() => ledger.cursors.has('session'));
    const sentAt = performance.now();
    discord.send({ op: 9, d: true });
    await discord.until(() => discord.framesOf(6).length === 1);
    assert.ok(performance.now() - sentAt >= 1_000);
  });

  test('a new session waits for its turn on one connection, even if a timer is early', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const steady = (): SteadyTime => Math.floor(performance.now() * 0.98) as SteadyTime;
    await bench.run({ limits: { spacingMs: 1_000 }, random: () => 0, steady });
    await discord.until(() => ledger.cursors.has('session'));
    discord.send({ op: 9, d: false });
    await discord.until(() => discord.sessions === 2);
    assert.equal(discord.connections, 2);
  });

  test('the first heartbeat comes at a random moment of the interval', async () => {
    for (const [random, count] of [
      [0, 1],
      [0.999, 0],
    ] as const) {
      await using bench = await startDiscordBench();
      const { discord } = bench;
      const { channel } = await bench.run({ random: () => random });
      await discord.until(() => channel.health().state === 'up' && discord.pings > 2);
      assert.equal(discord.framesOf(1).length, count);
    }
  });

  test('a heartbeat without an answer ends its own connection alone', async () => {
    await using bench = await startDiscordBench();
    const { discord } = bench;
    discord.heartbeatMs = 50;
    discord.acknowledges = false;
    await bench.run();
    await discord.until(() => discord.closeCodes.length === 1);
    discord.acknowledges = true;
    const before = discord.framesOf(1).length;
    await discord.until(() => discord.framesOf(1).length > before + 2);
    assert.equal(discord.closeCodes[0], 4200);
  });

  test('heartbeats on request stay within 120 payloads a minute', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const { channel } = await bench.run({ random: () => 0.999 });
    await discord.until(() => ledger.cursors.has('session'));
    for (let asked = 0; asked < 200; asked++) discord.send({ op: 1, d: null });
    discord.dispatch('MESSAGE_CREATE', said('behind them'));
    await discord.until(() => ledger.texts.length === 1);
    // The next ping comes behind all the answers.
    const { pings } = discord;
    await discord.until(() => discord.pings > pings + 1);
    assert.equal(channel.health().state, 'up');
    assert.deepEqual([discord.framesOf(1).length, discord.closeCodes], [114, []]);
  });

  test('a refused sequence ends the session; after another code a resume is tried', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    discord.closeAll(4007);
    await discord.until(() => discord.sessions === 2);
    assert.equal(discord.framesOf(6).length, 0);
    discord.closeAll(4009);
    await discord.until(() => discord.framesOf(6).length === 1);
  });

  test('a close without a code, or by a proxy of the platform, is resumed', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const { channel } = await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    discord.cutAll();
    await discord.until(() => discord.framesOf(6).length === 1 && channel.health().state === 'up');
    discord.closeAll(1001);
    await discord.until(() => discord.framesOf(6).length === 2 && channel.health().state === 'up');
    assert.equal(discord.sessions, 1);
    assert.deepEqual(discord.paths, ['/gateway', '/resume', '/resume']);
  });

  test('a session whose own address is gone is resumed at the common one', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const { channel } = await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    discord.resumeUnreachable = true;
    discord.closeAll(4000);
    await discord.until(() => discord.framesOf(6).length === 1 && channel.health().state === 'up');
    assert.deepEqual([discord.sessions, discord.paths], [1, ['/gateway', '/gateway']]);
  });

  test('a session that is declared invalid is let go of, and a new one is begun', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const { channel } = await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    discord.welcomes.push('invalid');
    discord.closeAll(4000);
    await discord.until(() => discord.sessions === 2 && ledger.session.id === 'session-2');
    assert.equal(channel.health().state, 'up');
  });

  test('three resumes that come to nothing end the session, and no fourth is tried', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    discord.welcomes.push(4000, 4000, 4000);
    discord.closeAll(4000);
    await discord.until(() => discord.sessions === 2);
    assert.equal(discord.framesOf(6).length, 3);
  });

  test('a network that is away costs no session', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const { channel } = await bench.run({ limits: { closesMax: 50 } });
    await discord.until(() => ledger.cursors.has('session'));
    discord.unreachable = true;
    discord.cutAll();
    await discord.until(() => discord.refusedSockets >= 4);
    assert.equal(channel.health().state, 'degraded');
    discord.unreachable = false;
    await discord.until(() => channel.health().state === 'up');
    assert.deepEqual([discord.sessions, discord.framesOf(6).length], [1, 1]);
  });

  const refusals = [
    [4004, /^the token in DISCORD_TOKEN was refused/],
    [4010, /in more servers than one connection serves/],
    [4011, /in more servers than one connection serves/],
    [4012, /a newer svc is needed/],
    [4013, /MESSAGE CONTENT INTENT under Bot in the developer portal/],
    [4014, /MESSAGE CONTENT INTENT under Bot in the developer portal/],
  ] as const;
  for (const [code, sentence] of refusals) {
    test(`close code ${code} is for good: it says what to do, and tries no more`, async () => {
      await using bench = await startDiscordBench();
      const { discord } = bench;
      discord.always = code;
      const { channel, stop } = await bench.run();
      await discord.until(() => channel.health().state === 'failed');
      assert.match(channel.health().reason ?? '', sentence);
      assert.equal(discord.framesOf(2).length, 1);
      await stop();
    });
  }

  test('a token that REST refuses is named before any connection', async () => {
    await using bench = await startDiscordBench();
    bench.discord.gatewayAnswers.push({ status: 401, body: { message: '401: Unauthorized' } });
    const { channel } = await bench.run();
    await bench.discord.until(() => channel.health().state === 'failed');
    assert.match(channel.health().reason ?? '', /^the token in DISCORD_TOKEN was refused/);
    assert.equal(bench.discord.frames.length, 0);
  });

  test('a gateway that closes and closes is left alone for a while, then asked anew', async () => {
    await using bench = await startDiscordBench();
    const { discord } = bench;
    discord.always = 4000;
    const limits = { pauseMs: 60_000, pauseMsMax: 60_000 };
    const { channel } = await bench.run({ limits, random: () => 0.9 });
    await discord.until(() => /closed the connection 5 times/.test(channel.health().reason ?? ''));
    assert.equal(channel.health().state, 'degraded');
    assert.equal(discord.closeCodes.length, 5);
  });

  test('the budget of new sessions outlives the process and ends an identify storm', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    discord.always = 'invalid';
    const limits = { closesMax: 1_000, atOnceMax: 3 };
    const first = await bench.run({ limits });
    const waits = /too many new sessions/;
    await discord.until(() => waits.test(first.channel.health().reason ?? ''));
    assert.equal(discord.framesOf(2).length, 3);
    await first.stop();
    const second = await bench.run({ limits });
    await discord.until(() => waits.test(second.channel.health().reason ?? ''));
    assert.equal(discord.framesOf(2).length, 3);
    assert.ok(ledger.cursors.has('identifies'));
  });

  test('while the platform has no new session left none is asked for', async () => {
    await using bench = await startDiscordBench();
    bench.discord.sessionsLeft = 0;
    const { channel } = await bench.run();
    await bench.discord.until(() => channel.health().state === 'degraded');
    assert.match(channel.health().reason ?? '', /too many new sessions/);
    assert.equal(bench.discord.framesOf(2).length, 0);
  });

  // discord.js#5134: a wait of hours; a connection that was resumed may outlive it.
  test('a session that is lost after that time is followed by a new one at once', async () => {
    await using bench = await startDiscordBench();
    const { discord, ledger } = bench;
    const first = await bench.run();
    await discord.until(() => ledger.cursors.has('session'));
    await first.stop();
    discord.sessionsLeft = 0;
    let skippedMs = 0;
    const { channel } = await bench.run({ steady: () => fromNow(skippedMs) });
    await discord.until(() => channel.health().state === 'up');
    skippedMs = 61_000;
    discord.send({ op: 9, d: false });
    await discord.until(() => discord.sessions === 2);
  });
});
