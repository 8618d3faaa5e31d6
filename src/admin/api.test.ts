import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, ids, pathOf, providerSaid, said, unsent } from '../../test/fake/admin-ledger.ts';
import {
  adminToken,
  live,
  makeWorld,
  openAdmin,
  revision,
  withToken,
  type Reply,
} from '../../test/fake/admin-world.ts';
import {
  assertDescribed,
  doneOf,
  operationsOf,
  requestOf,
  type OpenApi,
} from '../../test/admin/open-api.ts';
import { completionsChannel, type ConversationId } from '../domain/ids.ts';
import { anyMessage } from '../domain/records.ts';
import { NotOverwritten, ReadFailed } from '../ledger/ledger.ts';

const head = ['Host: localhost'];
const asOperator = [...head, `Authorization: Bearer ${adminToken}`];
const conversation = encodeURIComponent(ids.conversation);

async function start(access = withToken) {
  const world = makeWorld();
  live(world.events);
  const admin = await openAdmin(world, { access });
  const api = JSON.parse((await admin.get('/api/v1/openapi.json')).body) as OpenApi;
  return {
    ...world,
    world,
    admin,
    api,
    asked: (method: string, path: string): Promise<Reply> => admin.send(method, path, asOperator),
    [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
  };
}

test('every operation answers as the API describes it', async () => {
  await using started = await start();
  const operations = operationsOf(started.api);
  assert.ok(operations.length > 30);
  for (const operation of operations) {
    const { head: more, body } = requestOf(operation, revision);
    const sent = [...asOperator, ...more];
    const answer = await started.admin.send(operation.method, pathOf(operation), sent, body);
    const where = `${operation.method} ${operation.path}: ${answer.body}`;
    assert.equal(answer.status, doneOf(operation), where);
    assertDescribed(started.api, operation, answer);
  }
});

test('what a reader is told names no sender, no conversation, and no text', async () => {
  await using started = await start();
  const words = [said, answered, unsent, providerSaid];
  const secrets = [ids.sender, ids.conversation, conversation, ...words, adminToken];
  const operations = operationsOf(started.api).filter(({ method }) => method === 'GET');
  let readable = 0;
  for (const operation of operations) {
    const answer = await started.admin.send('GET', pathOf(operation), head);
    assert.ok(answer.status === 200 || answer.status === 401, operation.path);
    if (answer.status === 200) readable++;
    const { body } = answer;
    assert.ok(!secrets.some((secret) => body.includes(secret)), `${operation.path}: ${body}`);
  }
  assert.ok(readable > 10);
  const withBearer = await started.asked('GET', `/api/v1/messages/${ids.message}`);
  const without = await started.admin.get(`/api/v1/messages/${ids.message}`);
  const other = JSON.stringify(providerSaid);
  assert.equal(withBearer.body.replace(other, 'null'), without.body);
  assert.ok(withBearer.body.includes(other));
});

test('the parameters of a path are decoded once and come to the ledger as they were', async () => {
  await using started = await start();
  const { calls, asked } = started;
  const whose = { kind: 'conversation', channel: 'webhook', conversation: ids.conversation };
  const turns = await asked('GET', `/api/v1/conversations/webhook/${conversation}/turns?limit=7`);
  assert.ok(turns.body.includes(said));
  assert.deepEqual(calls.at(-1), ['turns', whose, { after: null, limit: 7 }]);
  await asked('DELETE', `/api/v1/conversations/webhook/${conversation}`);
  assert.deepEqual(calls.at(-1), ['forget', whose]);
  await asked('DELETE', '/api/v1/senders/messenger_a%3A47/%2541');
  assert.deepEqual(calls.at(-1), [
    'forget',
    { kind: 'sender', channel: 'messenger_a:47', sender: '%41' },
  ]);
  await asked('DELETE', `/api/v1/notes/webhook/${conversation}`);
  assert.deepEqual(calls.at(-1), ['clearNotes', whose]);
  await asked('DELETE', '/api/v1/brains/a%20b/notes');
  assert.deepEqual(calls.at(-1), ['clearNotes', { kind: 'brain', brain: 'a b' }]);
  await asked('GET', '/api/v1/messages?brain=a%2Bb+c%2541');
  const asks = { after: null, limit: 100, order: 'newest' };
  assert.deepEqual(calls.at(-1), ['messages', { ...anyMessage, brain: 'a+b c%41' }, asks]);
  await asked('GET', '/api/v1/dead-letters?after=%57%31%30&limit=500');
  assert.deepEqual(calls.at(-1), ['deadLetters', { after: 'W10', limit: 500 }]);
  await asked('GET', '/api/v1/dead-letters');
  assert.deepEqual(calls.at(-1), ['deadLetters', { after: null, limit: 100 }]);
});

test('a messenger is named by its type where one bot is known; several are told', async () => {
  await using started = await start();
  const { calls, asked } = started;
  await asked('DELETE', '/api/v1/senders/telegram/501');
  const whose = { kind: 'sender', channel: 'messenger_a:47', sender: '501' };
  assert.deepEqual(calls.at(-1), ['forget', whose]);
  await asked('GET', '/api/v1/notes/messenger_a/c1');
  const of = { kind: 'conversation', channel: 'messenger_a:47', conversation: 'c1' };
  assert.deepEqual(calls.at(-1), ['notes', of]);
  for (const [method, path] of [
    ['GET', '/api/v1/conversations/discord/c1'],
    ['GET', '/api/v1/senders/messenger_b/1/turns'],
    ['DELETE', '/api/v1/conversations/messenger_b/c1'],
    ['DELETE', '/api/v1/notes/discord/c1'],
  ] as const) {
    const { status, body } = await asked(method, path);
    assert.equal(status, 409, path);
    const { code, detail } = JSON.parse(body) as { code: string; detail: string };
    assert.equal(code, 'several_channels');
    assert.match(detail, /messenger_b:1 or messenger_b:2/);
    assert.deepEqual(calls.at(-1), ['channelKeys', 'messenger_b']);
  }
});

test('what is not there is 404, and a list of it is empty', async () => {
  await using started = await start();
  const missing = [
    ['GET', '/api/v1/messages/none'],
    ['GET', '/api/v1/messages/none/text'],
    ['GET', '/api/v1/dead-letters/none'],
    ['POST', '/api/v1/dead-letters/none/replay'],
    ['POST', '/api/v1/dead-letters/none/discard'],
    ['POST', '/api/v1/deliveries/none/try'],
    ['GET', '/api/v1/conversations/webhook/none'],
    ['GET', '/api/v1/tool-uses/none'],
  ] as const;
  for (const [method, path] of missing) {
    const { status, body } = await started.asked(method, path);
    assert.equal(status, 404, path);
    assert.equal((JSON.parse(body) as { code: string }).code, 'not_found');
  }
  const { body } = await started.asked('GET', '/api/v1/senders/webhook/none/turns');
  assert.deepEqual(JSON.parse(body), { rows: [], next: null });
});

test('a dead letter that cannot be moved says why', async () => {
  await using started = await start();
  const path = `/api/v1/dead-letters/${ids.letter}/replay`;
  const replay = operationsOf(started.api).find((one) => one.path.endsWith('/replay'))!;
  for (const [result, status] of [
    ['not_kept', 409],
    ['storage_failed', 503],
    ['not_found', 404],
  ] as const) {
    started.world.moveResult = result;
    const answer = await started.asked('POST', path);
    assert.equal(answer.status, status);
    assert.equal((JSON.parse(answer.body) as { code: string }).code, result);
    assertDescribed(started.api, replay, answer);
  }
});

test('a read that has no answer is 503, and tells a reader nothing of the storage', async () => {
  const world = makeWorld();
  const failed = { now: new ReadFailed('busy', '64 reads wait already.') };
  const reader = { ...world.ports.reader, story: () => Promise.reject(failed.now) };
  const ports = { ...world.ports, reader };
  await using admin = await openAdmin({ ...world, ports });
  for (const [reason, code, faults] of [
    ['busy', 'busy', 0],
    ['too_slow', 'too_slow', 0],
    ['closed', 'shutting_down', 0],
    ['storage', 'storage_failed', 1],
  ] as const) {
    failed.now = new ReadFailed(reason, `of ${reason}, in svc.db`);
    const { status, headers, body } = await admin.get(`/api/v1/messages/${ids.message}`);
    assert.equal(status, 503, reason);
    assert.equal((JSON.parse(body) as { code: string }).code, code);
    assert.equal(body.includes('svc.db'), faults === 0);
    assert.equal(headers.get('retry-after'), faults === 0 ? '1' : null);
    assert.equal(world.events.meters.faults, faults);
  }
});

test('a deletion that the storage did not take is no success', async () => {
  const world = makeWorld();
  const writes = { ...world.ports.writes, forget: () => Promise.reject(new Error('of the disk')) };
  const ports = { ...world.ports, writes };
  await using admin = await openAdmin({ ...world, ports }, { access: withToken });
  const ask = (): Promise<Reply> => admin.send('DELETE', '/api/v1/senders/webhook/ada', asOperator);
  assert.equal((await ask()).status, 500);
  world.health = { status: 'failing', reason: 'the storage failed' };
  const { status, body } = await ask();
  assert.equal(status, 503);
  assert.match(body, /"storage_failed".*the storage failed\. Not all of it is deleted/);
  const told = world.events.meters.writes.get('forget_sender')!;
  assert.deepEqual(Object.fromEntries(told), { 500: { count: 1 }, 503: { count: 1 } });
});

test('a deletion whose bytes another program keeps on the disk is no success', async () => {
  const world = makeWorld();
  const forget = (): Promise<never> => Promise.reject(new NotOverwritten());
  const ports = { ...world.ports, writes: { ...world.ports.writes, forget } };
  await using admin = await openAdmin({ ...world, ports }, { access: withToken });
  const { status, body } = await admin.send('DELETE', '/api/v1/senders/webhook/ada', asOperator);
  assert.equal(status, 503);
  assert.match(body, /"not_overwritten".*Stop that program.*and delete once more\./);
});

test('the description says who may ask, and what a parameter may be', async () => {
  await using started = await start();
  const { api } = started;
  assert.match(api.openapi, /^3\.1\./);
  assert.deepEqual(api.components.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } });
  for (const { path, method, security, parameters } of operationsOf(api)) {
    const { status } = await started.admin.send(method, path, head);
    const [needsNone = true] = security.map((one) => Object.keys(one).length === 0);
    assert.equal(status === 401, !needsNone, `${method} ${path}`);
    const named = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name);
    const declared = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
    assert.deepEqual(declared, named);
  }
  const { parameters } = api.paths['/api/v1/dead-letters']!['get']!;
  assert.deepEqual(parameters[1]!.schema, {
    type: 'integer',
    minimum: 1,
    maximum: 500,
    default: 100,
  });
});

test('every write that was let in is told and counted; so are refused bearers', async () => {
  await using started = await start();
  const { asked, admin, world } = started;
  await asked('POST', `/api/v1/dead-letters/${ids.letter}/replay`);
  await asked('POST', '/api/v1/dead-letters/none/discard');
  await asked('DELETE', '/api/v1/senders/webhook/ada');
  await asked('DELETE', '/api/v1/senders/webhook/%ff');
  const wrong = [...head, 'Authorization: Bearer wrong-token-of-mine'];
  for (let n = 0; n < 3; n++) await admin.send('DELETE', '/api/v1/senders/webhook/ada', wrong);
  await admin.send('DELETE', '/api/v1/senders/webhook/ada', head);
  const lines = world
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const told = lines.filter(({ code }) => code === 'operator_wrote');
  assert.deepEqual(
    told.map(({ who, action, id, channel, sender, status }) => {
      return [who, action, id ?? channel, sender, status];
    }),
    [
      ['operator', 'replay', ids.letter, undefined, 200],
      ['operator', 'discard', 'none', undefined, 404],
      ['operator', 'forget_sender', 'webhook', 'ada', 200],
      ['operator', 'forget_sender', undefined, undefined, 400],
    ],
  );
  const refused = lines.filter(({ code }) => code === 'bearer_refused');
  assert.deepEqual(
    refused.map(({ level, why }) => [level, why]),
    [
      ['warn', 'wrong'],
      ['warn', 'missing'],
    ],
  );
  assert.doesNotMatch(world.log(), /wrong-token-of-mine|the-token-of/);
  const { body } = await admin.get('/metrics');
  for (const line of [
    'svc_admin_writes_total{action="replay",status="200"} 1',
    'svc_admin_writes_total{action="forget_sender",status="400"} 1',
    'svc_admin_bearers_refused_total{why="wrong"} 3',
    'svc_admin_bearers_refused_total{why="missing"} 1',
  ]) {
    assert.ok(body.includes(`${line}\n`), line);
  }
});

test('codes are taken from the operator, and what came of it is told', async () => {
  await using started = await start();
  const paired = await started.asked('POST', `/api/v1/pairings/${ids.code}`);
  assert.deepEqual(JSON.parse(paired.body), {
    channel: 'messenger_a',
    sender: ids.sender,
    name: 'Ada',
    state: 'admitted',
    at: 1_000,
  });
  assert.equal((await started.asked('POST', '/api/v1/pairings/MISTYPED')).status, 404);
  assert.equal((await started.asked('DELETE', '/api/v1/pairings/messenger_a/nobody')).status, 404);
  const listed = await started.asked('GET', '/api/v1/pairings');
  assert.ok(!listed.body.includes(ids.code), 'a list of codes would be a list of keys');
});

test('who was turned away is told with ids to the operator alone', async () => {
  await using started = await start();
  const row = { channel: 'webhook', reason: 'stranger', count: 2, at: 1_000 };
  const told = await started.admin.get('/api/v1/turned-away', 'localhost');
  assert.deepEqual(JSON.parse(told.body), { rows: [row] });
  const withIds = await started.asked('GET', '/api/v1/turned-away/senders');
  assert.deepEqual(JSON.parse(withIds.body), { rows: [{ ...row, sender: ids.sender }] });
});

test('nobody takes over a request of the completions API, since its client waits', async () => {
  const world = makeWorld();
  const conversationById = async () => ({
    channel: completionsChannel,
    conversation: 'c' as ConversationId,
  });
  const ports = { ...world.ports, reader: { ...world.ports.reader, conversationById } };
  await using admin = await openAdmin({ ...world, ports }, { access: withToken });
  const path = `/api/v1/conversations/${ids.conversationId}/hold`;
  const { status, body } = await admin.send('POST', path, [...asOperator, 'Content-Length: 0']);
  assert.deepEqual([status, (JSON.parse(body) as { code: string }).code], [409, 'client_waits']);
});

test('no dead letter of the completions API is replayed, since no client waits', async () => {
  const world = makeWorld();
  const letter = { ...(await world.ports.reader.deadLetter(ids.letter))! };
  const deadLetter = async () => ({ ...letter, channel: completionsChannel });
  const ports = { ...world.ports, reader: { ...world.ports.reader, deadLetter } };
  await using admin = await openAdmin({ ...world, ports }, { access: withToken });
  const path = `/api/v1/dead-letters/${ids.letter}/replay`;
  const { status, body } = await admin.send('POST', path, [...asOperator, 'Content-Length: 0']);
  assert.deepEqual([status, (JSON.parse(body) as { code: string }).code], [409, 'nobody_waits']);
});
