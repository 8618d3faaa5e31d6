/** The outcome of a reply for every answer that Discord may give. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeliveryOutcome, Reply } from '../../domain/reply.ts';
import { fromNow, mockedClock } from '../../../test/support/hand-clock.ts';
import { startDiscordBench, type DiscordBench } from '../../../test/fake/discord-bench.ts';
import type { RestAnswer } from '../../../test/fake/scripted-discord.ts';
import { within } from '../../../test/support/waiting.ts';
import { Stopper } from '../../lib/stop.ts';

const target = '290926798999357250/1346821094301794303';
const reply = {
  id: '01kz8c4h9e2q7x5t0m3vbn',
  address: { channel: 'messenger_b:1203948576201938475', target },
  text: 'four',
} as unknown as Reply;
const attempt = { number: 1, possibleDuplicate: false, late: false };

async function send(
  bench: DiscordBench,
  answer: RestAnswer | 'cut',
  stop = new Stopper(),
  by = attempt,
): Promise<DeliveryOutcome> {
  await using channel = bench.make();
  await channel.open();
  bench.discord.posts.push(answer);
  return channel.deliver(reply, by, stop);
}

/** Status, code, and the outcome: kind, failure, whether it may have arrived. */
const cases: readonly [number, number, string][] = [
  [200, 0, 'delivered'],
  [400, 50_035, 'dead rejected'],
  [403, 50_001, 'dead rejected: the bot has no access to that channel (50001)'],
  [403, 50_013, 'dead rejected: the bot may not write in that channel (50013)'],
  [404, 10_003, 'dead gone: the channel is gone (10003)'],
  [403, 50_007, 'dead rejected: that person takes no direct messages from the bot (50007)'],
  // SnowTransfer#43, davidhozic/discord-advertisement-framework#82
  [403, 40_003, 'retry rate_limited not arrived'],
  [401, 0, 'retry unauthorized not arrived'],
  [500, 0, 'retry server_error may have arrived'],
  [502, 0, 'retry server_error may have arrived'],
  [503, 0, 'retry overloaded not arrived'],
  [302, 0, 'retry redirected not arrived'],
];

for (const [status, code, expected] of cases) {
  test(`${status} with code ${code}: ${expected}`, async () => {
    await using bench = await startDiscordBench();
    const outcome = await send(bench, { status, body: { code, message: 'upstream words' } });
    assert.equal(described(outcome), expected);
    if (outcome.kind === 'retry' || outcome.kind === 'dead') {
      const { said, ...own } = outcome.failure;
      assert.equal(said, status >= 400 && status < 500 ? 'upstream words' : undefined);
      assert.doesNotMatch(JSON.stringify(own), /upstream/);
    }
    // One try: the delivery schedule decides on more.
    assert.equal(bench.discord.postsTo('/messages').length, 1);
  });
}

const marked = { ...attempt, number: 6, possibleDuplicate: true };
const page = { status: 504, body: { code: 0, message: '' } };

for (const answer of [page, 'cut'] as const) {
  const name = answer === 'cut' ? answer : 'a 504';
  test(`${name} is tried on while Discord knows the nonce, and once after that`, async () => {
    await using bench = await startDiscordBench();
    const late = { ...marked, late: true };
    for (const by of [marked, { ...late, possibleDuplicate: false }]) {
      const outcome = await send(bench, answer, new Stopper(), by);
      assert.ok(outcome.kind === 'retry' && outcome.mayHaveArrived);
    }
    const left = await send(bench, answer, new Stopper(), late);
    assert.ok(left.kind === 'dead');
    assert.match(left.failure.detail, /; it may have arrived, so it is not sent again$/);
    const away = await send(bench, { status: 502, body: {} }, new Stopper(), late);
    assert.equal(away.kind, 'retry');
  });
}

function described(outcome: DeliveryOutcome): string {
  if (outcome.kind === 'delivered' || outcome.kind === 'paced') return outcome.kind;
  const { kind, detail } = outcome.failure;
  if (outcome.kind === 'retry') {
    return `retry ${kind} ${outcome.mayHaveArrived ? 'may have' : 'not'} arrived`;
  }
  return /\(\d+\)$/.test(detail) ? `dead ${kind}: ${detail}` : `dead ${kind}`;
}

test('429 is a pause of the platform, and nothing waits for it', async () => {
  await using bench = await startDiscordBench();
  const headers = { 'retry-after': '3600', 'x-ratelimit-scope': 'user' };
  const answer = { status: 429, headers, body: { retry_after: 3_599.5 } };
  const outcome = await within('the outcome', send(bench, answer));
  assert.ok(outcome.kind === 'paced' && outcome.asked?.kind === 'rate_limited');
  assert.ok(outcome.pauseMs >= 3_600_000 && outcome.asked.status === 429);
});

// discord-api-docs#849, #6473, nirn-proxy#14: the answers of the firewall before Discord.
const firewall = [
  { status: 403, body: '<title>Attention Required! | Cloudflare</title>' },
  { status: 403, body: { code: 40_333, message: 'internal network error' } },
  { status: 404, body: '' },
];

for (const answer of firewall) {
  test(`${JSON.stringify(answer)} of a firewall costs no reply`, async () => {
    await using bench = await startDiscordBench();
    const outcome = await send(bench, answer);
    assert.ok(outcome.kind === 'retry' && !outcome.mayHaveArrived);
    assert.match(outcome.failure.detail, /a proxy or a firewall before the platform refused it/);
  });
}

test('the time of a 429 may stand in its body alone', async () => {
  await using bench = await startDiscordBench();
  const outcome = await send(bench, { status: 429, body: { retry_after: 0.65, global: false } });
  assert.ok(outcome.kind === 'paced' && outcome.pauseMs === 650);
});

// discord-api-docs#5810, openclaw#74489: a page of Cloudflare (1015), or these words.
const banned = { code: 0, message: 'You are being blocked from accessing our API temporarily' };

for (const body of [banned, '<title>Error 1015</title>']) {
  const name = typeof body === 'string' ? 'a page' : 'JSON';
  test(`a ban of the address, as ${name}, holds up every call for a minute`, async () => {
    await using bench = await startDiscordBench();
    const { discord } = bench;
    const { channel } = await bench.run();
    await discord.until(() => channel.health().state === 'up');
    discord.posts.push({ status: 429, body });
    const outcome = await channel.deliver(reply, attempt, new Stopper());
    assert.ok(outcome.kind === 'paced' && outcome.pauseMs >= 60_000);
    const elsewhere = { ...reply, address: { ...reply.address, target: '319674150115610528' } };
    const later = await channel.deliver(elsewhere, attempt, new Stopper());
    assert.ok(later.kind === 'paced' && later.asked === null);
    const asked = (): number => discord.calls.filter(({ path }) => path.endsWith('bot')).length;
    const before = asked();
    discord.send({ op: 0 });
    await discord.until(() => /too many new sessions/.test(channel.health().reason ?? ''));
    assert.equal(asked(), before);
  });
}

// discord-api-docs#1463, Javacord#704: a ban has its time in a header, never in the body.
for (const body of [banned, '<title>Error 1015</title>']) {
  const name = typeof body === 'string' ? 'a page' : 'JSON';
  test(`a ban with a time, as ${name}, holds up every call for that time`, async () => {
    await using bench = await startDiscordBench();
    await using channel = bench.make();
    await channel.open();
    bench.discord.posts.push({ status: 429, body, headers: { 'retry-after': '3600' } });
    const outcome = await channel.deliver(reply, attempt, new Stopper());
    assert.ok(outcome.kind === 'paced' && outcome.pauseMs === 3_600_000);
    const elsewhere = { ...reply, address: { ...reply.address, target: '319674150115610528' } };
    const later = await channel.deliver(elsewhere, attempt, new Stopper());
    assert.ok(later.kind === 'paced' && later.asked === null);
    assert.equal(bench.discord.postsTo('/messages').length, 1);
  });
}

test('a limit of one kind of call without a time holds up no other call', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make();
  await channel.open();
  // discord-api-docs#4413: a limit of edits, in no header.
  bench.discord.posts.push({
    status: 429,
    body: { code: 30_046, message: 'Maximum number of edits' },
  });
  const stop = new Stopper();
  const outcome = await channel.deliver(reply, attempt, stop);
  assert.ok(outcome.kind === 'paced' && outcome.pauseMs >= 60_000);
  assert.deepEqual(await channel.deliver(reply, attempt, stop), { kind: 'delivered' });
});

test('a global limit holds up other channels too, without asking, and holds no timer', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make();
  await channel.open();
  const stop = new Stopper();
  const headers = { 'retry-after': '600', 'x-ratelimit-global': 'true' };
  bench.discord.posts.push({ status: 429, headers, body: { global: true } });
  await channel.deliver(reply, attempt, stop);
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const elsewhere = { ...reply, address: { ...reply.address, target: '319674150115610528' } };
  const outcome = await channel.deliver(elsewhere, attempt, stop);
  assert.ok(outcome.kind === 'paced' && outcome.pauseMs > 500_000 && outcome.asked === null);
  assert.equal(bench.discord.postsTo('/messages').length, 1);
  assert.ok(timers() <= before);
});

test('a bucket that is used up is not asked again before its time', async (t) => {
  // The library has no other clock, and on a busy machine 2 s may pass before the second call.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  await using bench = await startDiscordBench();
  await using channel = bench.make(mockedClock);
  await channel.open();
  const stop = new Stopper();
  const headers = { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '0' };
  bench.discord.posts.push({
    status: 200,
    headers: { ...headers, 'x-ratelimit-reset-after': '2' },
    body: {},
  });
  assert.equal((await channel.deliver(reply, attempt, stop)).kind, 'delivered');
  const outcome = await channel.deliver(reply, attempt, stop);
  assert.ok(outcome.kind === 'paced' && outcome.pauseMs > 1_000 && outcome.asked === null);
  assert.equal(bench.discord.postsTo('/messages').length, 1);
});

test('a time of day that is set back makes no limit last longer', async (t) => {
  const now = Date.now();
  let passedMs = 0;
  t.mock.timers.enable({ apis: ['Date'], now });
  await using bench = await startDiscordBench();
  await using channel = bench.make({ now: () => Date.now(), steady: () => fromNow(passedMs) });
  await channel.open();
  const stop = new Stopper();
  const again = { ...reply, address: { ...reply.address, target: '319674150115610528' } };
  const bucket = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '60' };
  const all = { 'x-ratelimit-global': 'true', 'retry-after': '600' };
  bench.discord.posts.push({ status: 200, headers: bucket, body: {} });
  await channel.deliver(reply, attempt, stop);
  bench.discord.posts.push({ status: 429, headers: all, body: { global: true } });
  await channel.deliver(again, attempt, stop);
  t.mock.timers.setTime(now - 3_600_000);
  const limited = await channel.deliver(reply, attempt, stop);
  assert.ok(limited.kind === 'paced' && limited.asked === null);
  // Some of the limit has passed meanwhile.
  assert.ok(limited.pauseMs > 500_000 && limited.pauseMs <= 600_000);
  passedMs += 600_001;
  t.mock.timers.setTime(now - 3_600_000 + 600_001);
  assert.equal((await channel.deliver(reply, attempt, stop)).kind, 'delivered');
});

test('a limit lasts as long where this machine tells another time than the instances', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make({ now: () => Date.now() + 300_000 });
  await channel.open();
  const stop = new Stopper();
  // Short enough to wait for.
  const all = { 'x-ratelimit-global': 'true', 'retry-after': '1' };
  bench.discord.posts.push({ status: 429, headers: all, body: { global: true } });
  await channel.deliver(reply, attempt, stop);
  assert.equal((await channel.deliver(reply, attempt, stop)).kind, 'delivered');
});

test('after a 401 the next try bears the token again', async () => {
  await using bench = await startDiscordBench();
  await using channel = bench.make();
  await channel.open();
  const stop = new Stopper();
  bench.discord.posts.push({ status: 401, body: { message: '401: Unauthorized', code: 0 } });
  await channel.deliver(reply, attempt, stop);
  assert.equal((await channel.deliver(reply, attempt, stop)).kind, 'delivered');
});

test('a connection that breaks after the request went out may have delivered it', async () => {
  await using bench = await startDiscordBench();
  const outcome = await send(bench, 'cut');
  assert.equal(described(outcome), 'retry connection_lost may have arrived');
});

test('answers that are no JSON, or JSON of another shape, are outcomes like others', async () => {
  await using bench = await startDiscordBench();
  for (const body of ['<html>', 7, null, [], { code: 'x', errors: 3 }]) {
    const outcome = await send(bench, { status: 400, body });
    assert.equal(described(outcome), 'dead rejected');
  }
});

test('a second try bears the nonce of the first, so that Discord knows it again', async () => {
  await using bench = await startDiscordBench();
  await send(bench, 'cut');
  await send(bench, { status: 200, body: {} });
  const [first, second] = bench.discord.postsTo('/messages').map(({ body }) => body);
  assert.deepEqual(first, second);
  assert.deepEqual([first!['nonce'], first!['enforce_nonce']], [reply.id, true]);
});

const unknownReference = {
  code: 50_035,
  message: 'Invalid Form Body',
  errors: {
    message_reference: {
      _errors: [{ code: 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE', message: 'Unknown message' }],
    },
  },
};

const refused: readonly [number, { code: number; message: string }][] = [
  [400, unknownReference],
  [400, { code: 10_008, message: 'Unknown Message' }],
  [403, { code: 160_002, message: 'Cannot reply without permission to read message history' }],
  [403, { code: 160_009, message: 'Cannot reference a message without permission to read …' }],
];

for (const [status, body] of refused) {
  test(`a reference that is refused (${body.code}) is left out, not the reply`, async () => {
    await using bench = await startDiscordBench();
    assert.deepEqual(await send(bench, { status, body }), { kind: 'delivered' });
    const posts = bench.discord.postsTo('/messages').map((post) => post.body as object);
    assert.deepEqual(
      posts.map((post) => 'message_reference' in post),
      [true, false],
    );
  });
}

test('another field that is wrong is not sent again', async () => {
  await using bench = await startDiscordBench();
  const errors = { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH', message: 'Too long' }] } };
  const body = { code: 50_035, message: 'Invalid Form Body', errors };
  assert.equal((await send(bench, { status: 400, body })).kind, 'dead');
  assert.equal(bench.discord.postsTo('/messages').length, 1);
});
