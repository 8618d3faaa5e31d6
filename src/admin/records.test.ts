/** The lists of the API, and the records of operators' writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ids, said } from '../../test/fake/admin-ledger.ts';
import {
  adminToken,
  makeWorld,
  openAdmin,
  withToken,
  type Reply,
  type World,
} from '../../test/fake/admin-world.ts';
import type { AuditRow } from '../domain/audit.ts';
import { anyMessage } from '../domain/records.ts';

const head = ['Host: localhost'];
const asOperator = [...head, `Authorization: Bearer ${adminToken}`];
const discard = `/api/v1/dead-letters/${ids.letter}/discard`;

async function start() {
  const world = makeWorld();
  const admin = await openAdmin(world, { access: withToken });
  return {
    world,
    get: (path: string): Promise<Reply> => admin.send('GET', `/api/v1/${path}`, head),
    write: (method: string, path: string): Promise<Reply> => admin.send(method, path, asOperator),
    [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
  };
}

test('what a list is asked for comes to the ledger as it is meant', async () => {
  await using started = await start();
  const { world, get } = started;
  const page = { after: null, limit: 100, order: 'newest' };
  await get('messages');
  assert.deepEqual(world.calls.at(-1), ['messages', anyMessage, page]);
  await get('messages?order=oldest&state=unanswered');
  const unanswered = { ...anyMessage, state: 'unanswered' };
  assert.deepEqual(world.calls.at(-1), ['messages', unanswered, { ...page, order: 'oldest' }]);
  await get('messages?channel=telegram&brain=a%20b&state=dead&outcome=no_consensus&limit=3');
  const filter = { channel: 'messenger_a', brain: 'a b', state: 'dead', outcome: 'no_consensus' };
  const wanted = { ...anyMessage, ...filter };
  assert.deepEqual(world.calls.at(-1), ['messages', wanted, { ...page, limit: 3 }]);
  await get('messages?since=1700000000000&until=1800000000000&channel=messenger_b:47');
  const span = { since: 1_700_000_000_000, until: 1_800_000_000_000, channel: 'messenger_b:47' };
  assert.deepEqual(world.calls.at(-1), ['messages', { ...anyMessage, ...span }, page]);
  await get('deliveries?state=deferred&channel=webhook&after=WzJd');
  const deferred = { channel: 'webhook', state: 'deferred' };
  assert.deepEqual(world.calls.at(-1), ['deliveries', deferred, { after: 'WzJd', limit: 100 }]);
});

test('a word that no list knows is 400 and named, and nothing is asked', async () => {
  await using started = await start();
  const { world, get } = started;
  for (const [path, named] of [
    ['messages?state=lost', /^state is one of waiting, answered, dead, unanswered\.$/],
    ['messages?state=', /^state is one of/],
    ['messages?outcome=Reply', /^outcome is one of reply, command/],
    [
      'messages?channel=slack',
      /^channel is one of messenger_a, messenger_b, webhook, completions, or a bot/,
    ],
    ['messages?channel=webhook:7', /^channel is one of/],
    ['messages?since=yesterday', /^since is a time in milliseconds since 1970\.$/],
    ['messages?until=-1', /^until is a time/],
    ['messages?since=1e3', /^since is a time/],
    ['messages?state=dead&state=dead', /^state is given more than once\.$/],
    ['messages?limit=501', /^limit is a whole number/],
    ['deliveries?state=answered', /^state is one of waiting, deferred, delivered, dead\.$/],
    ['deliveries?channel=', /^channel is one of/],
  ] as const) {
    const { status, body } = await get(path);
    assert.equal(status, 400, path);
    const { code, detail } = JSON.parse(body) as { code: string; detail: string };
    assert.equal(code, 'invalid_parameter');
    assert.match(detail, named);
  }
  assert.deepEqual(world.calls, []);
});

test('a conversation is found by its own id, and messages tell whose they are', async () => {
  await using started = await start();
  const { world, get, write } = started;
  const path = `conversations/${ids.conversationId}`;
  assert.equal((await get(path)).status, 401);
  const told = await write('GET', `/api/v1/${path}`);
  const row = JSON.parse(told.body) as Record<string, unknown>;
  assert.deepEqual([row['id'], row['conversation']], [ids.conversationId, ids.conversation]);
  const none = await write('GET', '/api/v1/conversations/cAAAA');
  assert.deepEqual([none.status, /No such conversation/.test(none.body)], [404, true]);
  const origins = `messages/origins?ids=${ids.message},nobody`;
  assert.equal((await get(origins)).status, 401);
  const { body } = await write('GET', `/api/v1/${origins}`);
  assert.deepEqual(world.calls.at(-1), ['origins', [ids.message, 'nobody']]);
  const { rows } = JSON.parse(body) as { rows: Record<string, unknown>[] };
  const { conversation, conversationId } = ids;
  const sender = { id: ids.sender, name: 'Ada' };
  const origin = { id: ids.message, channel: 'webhook', conversation, conversationId, sender };
  assert.deepEqual(rows, [origin]);
  assert.deepEqual(world.audited, []);
});

test('each write is a row of the audit, whatever came of it; a list is none', async () => {
  await using started = await start();
  const { world, get, write } = started;
  world.clockMs = 5_000;
  await write('POST', `${discard}?reason=it%20was%20spam`);
  await write('POST', `/api/v1/dead-letters/none/replay?reason=not+taken`);
  await write('DELETE', '/api/v1/senders/webhook/ada');
  await write('DELETE', '/api/v1/senders/webhook/%ff');
  await get('messages');
  await get('audit');
  const row = { at: 5_000, reason: null };
  assert.deepEqual(world.audited, [
    { ...row, action: 'discard', target: { id: ids.letter }, status: 200, reason: 'it was spam' },
    { ...row, action: 'replay', target: { id: 'none' }, status: 404 },
    { ...row, action: 'forget_sender', target: { channel: 'webhook', sender: 'ada' }, status: 200 },
    { ...row, action: 'forget_sender', target: {}, status: 400 },
  ]);
  assert.doesNotMatch(world.log(), /spam/, 'the log has no text');
});

test('who reads what people wrote is a row too, each time that it was shown', async () => {
  await using started = await start();
  const { world, write } = started;
  world.clockMs = 5_000;
  await write('GET', `/api/v1/messages/${ids.message}`);
  await write('GET', `/api/v1/messages/${ids.message}/text`);
  await write('GET', '/api/v1/messages/none/text');
  await write('GET', `/api/v1/dead-letters/${ids.letter}`);
  await write('HEAD', `/api/v1/dead-letters/${ids.letter}`);
  const row = { at: 5_000, status: 200, reason: null };
  assert.deepEqual(world.audited, [
    { ...row, action: 'read_message', target: { id: ids.message } },
    { ...row, action: 'read_dead_letter', target: { id: ids.letter } },
  ]);
});

test('lines of messages are for the operator, and a view of them is one audit row', async () => {
  await using started = await start();
  const { world, get, write } = started;
  world.clockMs = 5_000;
  const path = `messages/lines?ids=${ids.message},nobody`;
  assert.equal((await get(`${path}&view=one`)).status, 401);
  assert.equal((await write('HEAD', `/api/v1/${path}&view=one`)).status, 200);
  assert.deepEqual(world.audited, [], 'nobody has seen a text');
  const read = (query = '') => write('GET', `/api/v1/${path}${query}`);
  const [{ body }] = await Promise.all([read('&view=one'), read('&view=one')]);
  assert.deepEqual(world.calls.at(-1), ['lines', [ids.message, 'nobody']]);
  assert.deepEqual(JSON.parse(body), {
    rows: [{ id: ids.message, line: said, sensitivity: 'private' }],
  });
  await read('&view=one');
  const row = { action: 'read_lines', target: {}, status: 200, reason: null };
  assert.deepEqual(world.audited, [{ ...row, at: 5_000 }]);
  await read('&view=two');
  await read();
  await read();
  await read('&view=');
  assert.equal(world.audited?.length, 5, 'another view is a row, and each request without one');
  world.clockMs += 24 * 3_600_000;
  await read('&view=one');
  assert.equal(world.audited?.length, 6, 'a view lasts a day');
  assert.equal((await read(`&view=${'x'.repeat(65)}`)).status, 400);
});

test('a view whose row was not stored is audited at its next request', async () => {
  await using started = await start();
  const { world, write } = started;
  const path = `/api/v1/messages/lines?ids=${ids.message}&view=one`;
  world.audited = null;
  await write('GET', path);
  const stored: AuditRow[] = [];
  world.audited = stored;
  await write('GET', path);
  await write('GET', path);
  assert.equal(stored.length, 1);
});

test('who was not let in wrote nothing', async () => {
  await using started = await start();
  await using admin = await openAdmin(started.world, { access: withToken });
  assert.equal((await admin.send('POST', discard, head)).status, 401);
  const foreign = [...asOperator, 'Origin: http://elsewhere.example'];
  assert.equal((await admin.send('POST', discard, foreign)).status, 403);
  assert.deepEqual(started.world.audited, []);
});

test('a reason is short, and a write with a longer one is none', async () => {
  await using started = await start();
  const long = 'x'.repeat(201);
  assert.equal((await started.write('POST', `${discard}?reason=${long}`)).status, 400);
  assert.deepEqual(started.world.calls, []);
  assert.deepEqual(
    started.world.audited?.map(({ status, reason }) => [status, reason]),
    [[400, null]],
  );
});

test('an answer goes out after its row was kept', async () => {
  await using started = await start();
  const kept = Promise.withResolvers<boolean>();
  const asked = Promise.withResolvers<void>();
  started.world.ports.audit = () => {
    asked.resolve();
    return kept.promise;
  };
  let answered = false;
  const writing = started.write('POST', discard).then((reply) => {
    answered = true;
    return reply;
  });
  await asked.promise;
  await started.get('status');
  assert.equal(answered, false);
  kept.resolve(true);
  assert.equal((await writing).status, 200);
});

test('a write is kept before the server has closed, though its client has gone', async () => {
  const started = await start();
  const [asked, kept] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
  started.world.ports.audit = () => {
    asked.resolve();
    return kept.promise;
  };
  const writing = started.write('POST', discard).catch(() => null);
  await asked.promise;
  let hasClosed = false;
  const closing = started[Symbol.asyncDispose]().then(() => (hasClosed = true));
  // The server cuts the connection after waiting for this write.
  await writing;
  for (let turns = 0; turns < 20; turns++) await turn();
  assert.equal(hasClosed, false);
  kept.resolve(true);
  await closing;
});

test('what could not be written down is answered all the same, and is a fault', async () => {
  const audits: readonly World['ports']['audit'][] = [
    async () => false,
    () => Promise.reject(new Error('of the disk')),
  ];
  for (const audit of audits) {
    await using started = await start();
    started.world.ports.audit = audit;
    assert.equal((await started.write('POST', discard)).status, 200);
    assert.equal(started.world.events.meters.faults, 1);
    assert.match(started.world.log(), /the audit of discard/);
  }
});
