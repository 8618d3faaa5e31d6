/** The fake gateway of Discord, driven frame by frame with the WebSocket client of `ws`. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { WebSocket } from 'ws';
import { startFakeDiscord, type FakeDiscord } from '../fake/discord.ts';

type Packet = { op: number; d: Record<string, unknown>; s: number | null; t: string | null };

/** Guilds, messages in guilds and directly, and their content. */
const allIntents = 1 | (1 << 9) | (1 << 12) | (1 << 15);

/** A connection to the gateway that sends the test's packets. */
async function connect(fake: FakeDiscord, query = '?v=10&encoding=json', path = '/') {
  const socket = new WebSocket(fake.url.replace(/^http/, 'ws').replace('/api', path) + query);
  const got: Packet[] = [];
  socket.on('message', (data: Buffer) => got.push(JSON.parse(data.toString('utf8')) as Packet));
  const closed = once(socket, 'close').then(([code]) => Number(code));
  await once(socket, 'open');
  const send = (op: number, d: unknown): void => socket.send(JSON.stringify({ op, d }));
  const next = async (find: (packet: Packet) => boolean): Promise<Packet> => {
    for (;;) {
      const found = got.find(find);
      if (found !== undefined) return found;
      await once(socket, 'message');
    }
  };
  const identify = (more: object = {}): void =>
    send(2, { token: fake.token, intents: allIntents, properties: {}, ...more });
  const dispose = (): Promise<void> => Promise.resolve(socket.terminate());
  return { socket, got, closed, send, next, identify, [Symbol.asyncDispose]: dispose };
}

const named = (name: string) => (packet: Packet) => packet.t === name;
const coded = (op: number) => (packet: Packet) => packet.op === op;

test('says hello first, and acknowledges each heartbeat', async () => {
  await using fake = await startFakeDiscord();
  await using line = await connect(fake);
  const hello = await line.next(coded(10));
  assert.equal(hello.d['heartbeat_interval'], 41_250);
  line.send(1, null);
  await line.next(coded(11));
  fake.gateway.askForHeartbeat();
  await line.next(coded(1));
  assert.deepEqual(fake.gateway.connections[0]?.heartbeats, [null]);
});

suite('a connection is closed', () => {
  const cases: [string, number, (line: Awaited<ReturnType<typeof connect>>) => void][] = [
    ['an unknown opcode', 4_001, (line) => line.send(99, {})],
    ['a payload that is no JSON', 4_002, (line) => line.socket.send('{')],
    ['a payload over 4,096 bytes', 4_002, (line) => line.send(1, 'x'.repeat(4_096))],
    ['a payload before IDENTIFY', 4_003, (line) => line.send(3, {})],
    ['a wrong token', 4_004, (line) => line.identify({ token: 'wrong' })],
    ['a shard that is none', 4_010, (line) => line.identify({ shard: [2, 1] })],
    ['an intent that is none', 4_013, (line) => line.identify({ intents: 1 << 30 })],
    ['an intent not switched on', 4_014, (line) => line.identify({ intents: 1 << 8 })],
  ];
  for (const [why, code, act] of cases) {
    test(`with ${code} for ${why}`, async () => {
      await using fake = await startFakeDiscord();
      await using line = await connect(fake);
      act(line);
      assert.equal(await line.closed, code);
    });
  }

  test('with 4005 for a second IDENTIFY, 4012 for another version', async () => {
    await using fake = await startFakeDiscord();
    await using line = await connect(fake);
    line.identify();
    await line.next(named('READY'));
    line.identify();
    assert.equal(await line.closed, 4_005);
    await using old = await connect(fake, '?v=6&encoding=json');
    assert.equal(await old.closed, 4_012);
  });

  test('with 4008 for more than 120 payloads in a minute', async () => {
    await using fake = await startFakeDiscord();
    await using line = await connect(fake);
    for (let sent = 0; sent < 121; sent++) line.send(1, null);
    assert.equal(await line.closed, 4_008);
  });

  test('when it sends no heartbeats', async () => {
    await using fake = await startFakeDiscord({ heartbeatMs: 20 });
    await using line = await connect(fake);
    assert.equal(await line.closed, 4_000);
  });

  test('for good when sessions are begun too often: the token is another one', async () => {
    await using fake = await startFakeDiscord({ sessionStarts: 1, identifyGapMs: 0 });
    const { token } = fake;
    await using first = await connect(fake);
    first.identify();
    await first.next(named('READY'));
    await using second = await connect(fake);
    second.identify();
    assert.deepEqual([await first.closed, await second.closed], [4_004, 4_004]);
    assert.notEqual(fake.token, token);
  });
});

suite('a session', () => {
  test('is resumed from the sequence that the client names', async () => {
    await using fake = await startFakeDiscord();
    const channel = fake.textChannel(fake.guild('Team'), 'general');
    await using line = await connect(fake);
    line.identify();
    const ready = await line.next(named('READY'));
    await line.next(named('GUILD_CREATE'));
    fake.say(channel, 'one');
    const one = await line.next(named('MESSAGE_CREATE'));
    fake.gateway.drop();
    await line.closed;
    fake.say(channel, 'two');
    await using again = await connect(fake, undefined, '/resume');
    const { session_id } = ready.d;
    assert.match(String(ready.d['resume_gateway_url']), /\/resume$/);
    again.send(6, { token: fake.token, session_id, seq: one.s! - 1 });
    await again.next(named('RESUMED'));
    const said = again.got.filter(named('MESSAGE_CREATE')).map(({ d }) => d['content']);
    assert.deepEqual(said, ['one', 'two']);
    await using ahead = await connect(fake);
    ahead.send(6, { token: fake.token, session_id, seq: 999 });
    assert.equal(await ahead.closed, 4_007);
  });

  test('that was closed with 1000, timed out or never was, is invalid', async () => {
    const clock = { at: Date.now() };
    await using fake = await startFakeDiscord({ now: () => clock.at, identifyGapMs: 0 });
    const ended = () => {
      const last = fake.gateway.connections.at(-1);
      return fake.until(() => last?.closed ?? undefined, 'the end of a connection');
    };
    const begin = async (code: number): Promise<unknown> => {
      await using line = await connect(fake);
      line.identify();
      const { d } = await line.next(named('READY'));
      line.socket.close(code);
      assert.deepEqual(await ended(), { code, by: 'client' });
      return d['session_id'];
    };
    const resumeOf = async (session_id: unknown): Promise<boolean> => {
      await using line = await connect(fake);
      line.send(6, { token: fake.token, session_id, seq: 1 });
      const { op, d } = await line.next(({ op: code, t }) => code === 9 || t === 'RESUMED');
      if (op === 9) assert.equal(d, false);
      line.socket.terminate();
      await ended();
      return op !== 9;
    };
    assert.equal(await resumeOf('never-was'), false);
    assert.equal(await resumeOf(await begin(1_000)), false);
    const left = await begin(4_200);
    assert.equal(await resumeOf(left), true);
    clock.at += 10 * 60 * 1_000;
    assert.equal(await resumeOf(left), false);
  });

  test('outlives a close with 4000, and ends with one of 4009', async () => {
    for (const [code, expected] of [
      [4_000, 'RESUMED'],
      [4_009, 9],
    ] as const) {
      await using fake = await startFakeDiscord();
      await using line = await connect(fake);
      line.identify();
      const { d } = await line.next(named('READY'));
      fake.gateway.closeAll(code);
      assert.equal(await line.closed, code);
      await using again = await connect(fake);
      again.send(6, { token: fake.token, session_id: d['session_id'], seq: 1 });
      const answer = await again.next(({ op, t }) => op === 9 || t === 'RESUMED');
      assert.equal(answer.t ?? answer.op, expected);
    }
  });

  test('is refused on demand, and by an IDENTIFY too soon after another', async () => {
    const now = Date.now();
    await using fake = await startFakeDiscord({ now: () => now });
    fake.gateway.plan({ kind: 'invalid-session', resumable: true });
    await using first = await connect(fake);
    first.identify();
    assert.equal((await first.next(coded(9))).d, true);
    await using second = await connect(fake);
    second.identify();
    await second.next(named('READY'));
    await using third = await connect(fake);
    third.identify();
    assert.equal((await third.next(coded(9))).d, false);
    fake.gateway.invalidate(false);
    assert.equal((await second.next(coded(9))).d, false);
  });
});

test('a frozen gateway says nothing, and has it all when it thaws', async () => {
  await using fake = await startFakeDiscord();
  const channel = fake.textChannel(fake.guild('Team'), 'general');
  await using line = await connect(fake);
  line.identify();
  const ready = await line.next(named('READY'));
  await line.next(named('GUILD_CREATE'));
  fake.gateway.isFrozen = true;
  line.send(1, 2);
  fake.say(channel, 'unheard');
  await fake.until(() => fake.gateway.connections[0]?.heartbeats[0] ?? undefined, 'a heartbeat');
  assert.equal(line.got.some(coded(11)), false);
  fake.gateway.isFrozen = false;
  await using again = await connect(fake);
  again.send(6, { token: fake.token, session_id: ready.d['session_id'], seq: 2 });
  assert.equal((await again.next(named('MESSAGE_CREATE'))).d['content'], 'unheard');
});
