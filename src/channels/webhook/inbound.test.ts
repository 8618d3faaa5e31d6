import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import type { Acceptance } from '../channel.ts';
import {
  answersOf,
  exchange,
  post,
  readAll,
  secret,
  startWebhook,
  type Answer,
} from '../../../test/fake/webhook.ts';

const good = '{"sender_id":"ann","text":"hello"}';

type Json = Record<string, unknown>;
const jsonOf = (answer: Answer): Json => JSON.parse(answer.body) as Json;

async function only(port: number, text: string | Buffer): Promise<Answer> {
  const answers = await exchange(port, text);
  assert.equal(answers.length, 1);
  return answers[0]!;
}

/** The request to send, and the expected status and code. */
const table: readonly [string, string, number, string][] = [
  ['another path', post(good, {}, 'POST /other'), 404, 'not_found'],
  ['a path that only begins like it', post(good, {}, 'POST /webhook/x'), 404, 'not_found'],
  ['another path with another method', post('', {}, 'DELETE /other'), 404, 'not_found'],
  ['GET', post('', {}, 'GET /webhook'), 405, 'method_not_allowed'],
  ['OPTIONS', post('', {}, 'OPTIONS /webhook'), 405, 'method_not_allowed'],
  [
    'PUT without the secret',
    post(good, { authorization: '' }, 'PUT /webhook'),
    405,
    'method_not_allowed',
  ],
  ['POST to /healthz', post(good, {}, 'POST /healthz'), 405, 'method_not_allowed'],
  ['no secret', post(good, { authorization: '' }), 401, 'unauthorized'],
  ['a wrong secret', post(good, { authorization: 'Bearer no' }), 401, 'unauthorized'],
  ['another scheme', post(good, { authorization: `Basic ${secret}` }), 401, 'unauthorized'],
  [
    'a secret with more behind it',
    post(good, { authorization: `Bearer ${secret}x` }),
    401,
    'unauthorized',
  ],
  ['two secrets', post(good, { AUTHORIZATION: 'Bearer no' }), 401, 'unauthorized'],
  [
    'no secret and no JSON',
    post('x', { authorization: '', 'content-type': '' }),
    401,
    'unauthorized',
  ],
  ['no content type', post(good, { 'content-type': '' }), 415, 'unsupported_media_type'],
  ['plain text', post(good, { 'content-type': 'text/plain' }), 415, 'unsupported_media_type'],
  [
    'another charset',
    post(good, { 'content-type': 'application/json; charset=latin1' }),
    415,
    'unsupported_media_type',
  ],
  [
    'a type that begins like JSON',
    post(good, { 'content-type': 'application/json5' }),
    415,
    'unsupported_media_type',
  ],
  ['gzip', post(good, { 'content-encoding': 'gzip' }), 415, 'unsupported_media_type'],
  ['broken JSON', post('{"sender_id":'), 400, 'invalid_json'],
  ['an empty body', post(''), 400, 'invalid_json'],
  ['an array', post('[]'), 400, 'invalid_json'],
  ['null', post('null'), 400, 'invalid_json'],
  ['no sender', post('{"text":"x"}'), 400, 'missing_sender'],
  ['no content', post('{"sender_id":"ann"}'), 400, 'missing_content'],
  ['an object as text', post('{"sender_id":"ann","text":{}}'), 400, 'invalid_field'],
  ['a fraction as sender', post('{"sender_id":1.5,"text":"x"}'), 400, 'invalid_field'],
  ['a long webhook-id', post(good, { 'webhook-id': 'x'.repeat(257) }), 400, 'invalid_field'],
];

test('every fault gets its status, its code and a problem body', async (t) => {
  await using webhook = await startWebhook();
  for (const [name, request, status, code] of table) {
    await t.test(name, async () => {
      const answer = await only(webhook.port, request);
      assert.equal(answer.status, status);
      assert.equal(answer.headers.get('content-type'), 'application/problem+json');
      const { detail, ...rest } = jsonOf(answer);
      const title = rest['title'];
      assert.deepEqual(rest, { type: 'about:blank', title, status, code });
      assert.ok(typeof title === 'string' && typeof detail === 'string' && detail.length > 10);
      if (status === 401) assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
      if (status === 405) assert.match(answer.headers.get('allow') ?? '', /^(POST|GET, HEAD)$/);
    });
  }
  assert.equal(webhook.accept.messages.length, 0);
  const refused = webhook.calls.filter(([event]) => event === 'messageRefused');
  assert.equal(refused.length, table.length);
});

/** One fault of each kind, in the order of the checks. */
type Flaw = {
  readonly code: string;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
};
const flaws: readonly Flaw[] = [
  { code: 'not_found', path: '/other' },
  { code: 'method_not_allowed', method: 'PUT' },
  { code: 'unauthorized', headers: { authorization: 'Bearer no' } },
  { code: 'unsupported_media_type', headers: { 'content-type': 'text/plain' } },
  { code: 'body_too_large', headers: { 'content-length': '1048577' } },
  { code: 'inbox_full' },
  { code: 'invalid_json', body: '{' },
];

test('of two faults at once the one that is looked for first is told', async () => {
  await using webhook = await startWebhook();
  for (const [place, first] of flaws.entries()) {
    for (const other of flaws.slice(place + 1)) {
      const both = { method: 'POST', path: '/webhook', body: good, ...other, ...first };
      const headers = { ...other.headers, ...first.headers };
      webhook.accept.free = [first.code, other.code].includes('inbox_full') ? 0 : 1_000;
      const socket = connect(webhook.port, '127.0.0.1');
      socket.end(post(both.body, headers, `${both.method} ${both.path}`));
      const [answer] = answersOf(await readAll(socket));
      assert.equal(jsonOf(answer!)['code'], first.code, `and ${other.code}`);
    }
  }
});

test('a sender that compresses is told to send the body as it is', async () => {
  await using webhook = await startWebhook();
  const answer = await only(webhook.port, post(good, { 'content-encoding': 'gzip' }));
  assert.equal(answer.headers.get('accept-encoding'), 'identity');
  assert.match(String(jsonOf(answer)['detail']), /without "Content-Encoding"/);
  const plain = await only(webhook.port, post(good, { 'content-encoding': 'Identity' }));
  assert.equal(plain.status, 200);
});

test('HEAD on the path is 405 without a body', async () => {
  await using webhook = await startWebhook();
  const socket = connect(webhook.port, '127.0.0.1');
  socket.write(post('', {}, 'HEAD /webhook'));
  assert.match(await readAll(socket), /^HTTP\/1\.1 405 [^]*\r\n\r\n$/);
});

const accepted: readonly [string, string][] = [
  ['plainly', post(good)],
  ['with a query', post(good, {}, 'POST /webhook?from=crm')],
  ['in the absolute form', post(good, {}, 'POST http://svc/webhook?x=1')],
  ['with bearer in lower case', post(good, { authorization: `bearer ${secret}` })],
  ['with the charset', post(good, { 'content-type': 'application/json; charset=utf-8' })],
  ['in capitals', post(good, { 'content-type': 'Application/JSON;Charset="UTF-8"' })],
  ['with another parameter', post(good, { 'content-type': 'application/json; v=1' })],
  ['in chunks', post('', { 'content-length': '', 'transfer-encoding': 'chunked' }) + chunked(good)],
];

function chunked(text: string): string {
  const rest = text.slice(5);
  return `5\r\n${text.slice(0, 5)}\r\n${rest.length.toString(16)}\r\n${rest}\r\n0\r\n\r\n`;
}

test('a good message is accepted', async (t) => {
  await using webhook = await startWebhook();
  for (const [name, request] of accepted) {
    await t.test(name, async () => {
      const answer = await only(webhook.port, request);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('content-type'), 'application/json');
      const message_id = `m${webhook.accept.messages.length}`;
      const expected = { status: 'accepted', message_id, conversation_id: 'ann' };
      assert.deepEqual(jsonOf(answer), expected);
    });
  }
  assert.equal(webhook.accept.messages.length, accepted.length);
  assert.deepEqual(webhook.accept.messages[0], {
    channel: 'webhook',
    conversation: 'ann',
    sender: { id: 'ann', name: null },
    text: 'hello',
    media: null,
    address: { channel: 'webhook', target: '"ann"' },
    dedupeKey: null,
  });
});

test('a resend with the same webhook-id or Idempotency-Key is a duplicate', async () => {
  await using webhook = await startWebhook();
  for (const header of ['webhook-id', 'Idempotency-Key']) {
    const request = post(good, { [header]: `key of ${header}` });
    const first = jsonOf(await only(webhook.port, request));
    const second = jsonOf(await only(webhook.port, request));
    assert.equal('duplicate' in first, false);
    assert.deepEqual(second, { ...first, duplicate: true });
  }
  assert.equal(webhook.accept.messages.length, 2);
});

test('an integer conversation id comes back as an integer with its digits', async () => {
  await using webhook = await startWebhook();
  const id = '9007199254740993000';
  const body = `{"sender_id":"ann","conversation_id":${id},"text":"x"}`;
  const answer = await only(webhook.port, post(body));
  assert.match(answer.body, new RegExp(`"conversation_id":${id}}$`));
});

test('a full ledger, a stopping service and failed storage are 503 with Retry-After', async () => {
  await using webhook = await startWebhook();
  const refusals = [
    ['full', 'inbox_full', 1_500, '2'],
    ['shutting_down', 'shutting_down', 1, '1'],
    ['storage_failed', 'storage_failed', 30_000, '30'],
  ] as const;
  for (const [reason, code, retryAfterMs, seconds] of refusals) {
    const refused: Acceptance = { kind: 'refused', reason, retryAfterMs };
    webhook.accept.next.push(refused);
    const answer = await only(webhook.port, post(good));
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), seconds);
    assert.equal(jsonOf(answer)['code'], code);
  }
});

test('without room the answer comes before the body', async () => {
  await using webhook = await startWebhook();
  webhook.accept.free = 0;
  const answer = await only(webhook.port, post('not even JSON'));
  assert.equal(answer.status, 503);
  assert.equal(jsonOf(answer)['code'], 'inbox_full');
  assert.equal(answer.headers.get('retry-after'), '1');
});

test('a stopped channel lets its address go, and refuses what has come half', async () => {
  await using webhook = await startWebhook();
  const socket = connect(webhook.port, '127.0.0.1');
  const all = readAll(socket);
  socket.write(post(good).slice(0, 20));
  assert.equal((await only(webhook.port, post('', {}, 'GET /healthz'))).status, 200);
  webhook.stop();
  assert.deepEqual(await exchange(webhook.port, post(good)), []);
  socket.write(post(good).slice(20));
  const [answer] = answersOf(await all);
  assert.equal(answer?.status, 503);
  assert.equal(jsonOf(answer)['code'], 'shutting_down');
});

test('/healthz answers without a secret', async () => {
  await using webhook = await startWebhook();
  const answer = await only(webhook.port, post('', { authorization: '' }, 'GET /healthz'));
  assert.equal(answer.status, 200);
  assert.deepEqual(jsonOf(answer), { status: 'ok' });
});

test('a throw out of accept is a 500 and no crash', async () => {
  await using webhook = await startWebhook();
  webhook.accept.next.push({ kind: 'accepted', receipts: [] });
  assert.equal((await only(webhook.port, post(good))).status, 500);
  assert.equal((await only(webhook.port, post(good))).status, 200);
});

test('keep-alive holds over accepted and refused messages, not over a wrong secret', async () => {
  await using webhook = await startWebhook();
  const keep = { connection: 'keep-alive' };
  const wrong = post(good, { ...keep, authorization: 'Bearer no' });
  const sent = post(good, keep) + post('{}', keep) + wrong + post(good);
  const answers = await exchange(webhook.port, sent);
  assert.deepEqual(
    answers.map(({ status, headers }) => [status, headers.get('connection')]),
    [
      [200, 'keep-alive'],
      [400, 'keep-alive'],
      [401, 'close'],
    ],
  );
});

test('a client that goes away in the middle of its body costs nothing', async () => {
  await using webhook = await startWebhook();
  for (let i = 0; i < 20; i++) {
    const socket = connect(webhook.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(post(good, { 'content-length': '100' }));
    socket.destroy();
  }
  assert.equal((await only(webhook.port, post(good))).status, 200);
  assert.equal(webhook.accept.messages.length, 1);
});
