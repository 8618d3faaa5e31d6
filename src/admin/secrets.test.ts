/** Putting secret values: the outcome in words, and the value nowhere. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { ids } from '../../test/fake/admin-ledger.ts';
import {
  adminToken,
  makeWorld,
  openAdmin,
  withToken,
  type Reply,
  type World,
} from '../../test/fake/admin-world.ts';
import { assertDescribed, operationsOf, type OpenApi } from '../../test/admin/open-api.ts';
import { until } from '../../test/support/waiting.ts';
import type { SecretChange } from './secret-control.ts';

const own = 'Host: 127.0.0.1';
const right = `Authorization: Bearer ${adminToken}`;
const asJson = 'Content-Type: application/json';
const path = `/api/v1/secrets/${ids.variable}`;

/** @param outcome of each change */
async function start(world: World, outcome: () => Promise<SecretChange>) {
  const secrets = { ...world.ports.secrets, set: outcome, delete: outcome };
  const admin = await openAdmin(
    { ...world, ports: { ...world.ports, secrets } },
    { access: withToken },
  );
  const api = JSON.parse((await admin.get('/api/v1/openapi.json')).body) as OpenApi;
  const send = (method: string, at: string, body: string, lines: readonly string[]) =>
    admin.send(method, at, [...lines, `Content-Length: ${Buffer.byteLength(body)}`], body);
  return {
    admin,
    api,
    send,
    put: (value: string): Promise<Reply> =>
      send('PUT', path, JSON.stringify({ value }), [own, right, asJson]),
    remove: (): Promise<Reply> => admin.send('DELETE', path, [own, right]),
    [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
  };
}

const done = async (): Promise<SecretChange> => ({ kind: 'done' });
const locked = { state: 'locked', message: 'It is locked.', remedy: 'Unlock it.' } as const;

const outcomes: readonly (readonly [SecretChange, number, string | null, RegExp])[] = [
  [{ kind: 'done' }, 204, null, /^$/],
  [{ kind: 'not_found' }, 404, 'not_found', /no secret of this name/],
  [{ kind: 'by_hand' }, 403, 'set_by_hand', /is set by hand/],
  [{ kind: 'full' }, 409, 'secrets_full', /remove one first/],
  [{ kind: 'busy' }, 429, 'busy', /ask again/],
  [
    { kind: 'unavailable', ...locked },
    503,
    'keychain_unavailable',
    /"It is locked\. Unlock it\.".*"state":"locked","remedy":"Unlock it\."/,
  ],
];

test('each outcome of a change has its status, and its code says which', async () => {
  const world = makeWorld();
  let now: SecretChange = { kind: 'done' };
  await using started = await start(world, async () => now);
  const operations = operationsOf(started.api).filter((one) => one.path.endsWith('/{name}'));
  for (const [outcome, status, code, words] of outcomes) {
    now = outcome;
    for (const [method, answer] of [
      ['PUT', await started.put('a value')],
      ['DELETE', await started.remove()],
    ] as const) {
      if (method === 'PUT' && outcome.kind === 'not_found') continue;
      if (method === 'DELETE' && outcome.kind === 'full') continue;
      assert.equal(answer.status, status, `${method} ${outcome.kind}`);
      assert.match(answer.body, words);
      if (code !== null) assert.equal((JSON.parse(answer.body) as { code: string }).code, code);
      assertDescribed(
        started.api,
        operations.find((one) => one.method === method)!,
        answer,
      );
    }
  }
  const { headers } = await started.put('a value');
  assert.equal(headers.get('content-security-policy')!.split(';')[0], "default-src 'none'");
  assert.deepEqual(
    [...new Set(world.audited!.map(({ action }) => action))],
    ['secret_set', 'secret_deleted'],
  );
  for (const { target } of world.audited!) {
    assert.deepEqual(target, { name: ids.variable, principal: 'operator' });
  }
});

test('what is done has no body, and tells neither its type nor a length', async () => {
  await using started = await start(makeWorld(), done);
  const { status, headers, body } = await started.put('a value');
  assert.deepEqual([status, body], [204, '']);
  assert.equal(headers.get('content-type'), null);
  assert.equal(headers.get('content-length'), null);
});

test('a value that cannot be kept is refused without a word of it', async () => {
  const world = makeWorld();
  const taken: SecretChange[] = [];
  await using started = await start(world, async () => {
    taken.push({ kind: 'done' });
    return { kind: 'done' };
  });
  const wrong = ['', ' ', 'two\nlines', 'two\rlines', 'a\0b', 'x'.repeat(1_281)];
  for (const value of wrong) {
    const { status, body } = await started.put(value);
    assert.equal(status, 400, JSON.stringify(value));
    const { code, detail } = JSON.parse(body) as { code: string; detail: string };
    assert.equal(code, 'invalid_value');
    assert.match(detail, /^The value /);
  }
  assert.deepEqual(taken, []);
  for (const value of ['x', 'x'.repeat(1_280), '🔑'.repeat(640), ' padded ', '"quoted" \\']) {
    assert.equal((await started.put(value)).status, 204);
  }
});

test('what is no name of a variable reaches neither audit nor answer', async () => {
  const world = makeWorld('debug');
  await using started = await start(world, done);
  const names = [
    'sk-proj-a-canary-in-the-path',
    'a canary',
    '1CANARY',
    'CANARY-',
    `C${'x'.repeat(128)}`,
  ];
  for (const name of names) {
    const at = `/api/v1/secrets/${encodeURIComponent(name)}`;
    for (const [method, lines] of [
      ['PUT', [own, right, asJson]],
      ['DELETE', [own, right]],
    ] as const) {
      const { status, body } = await started.send(method, at, '{"value":"v"}', lines);
      assert.equal(status, 400, name);
      assert.match(body, /"invalid_parameter".*not the name of an environment variable/);
      assert.ok(!body.includes(name));
    }
    assert.ok(!`${world.log()}${JSON.stringify(world.audited)}`.includes(name), name);
  }
  assert.equal(world.audited!.length, 2 * names.length);
  for (const { target } of world.audited!) assert.deepEqual(target, {});
});

const canary = 'Canary-4711-that-somebody-typed';

/** Requests with the canary in each place where a body can be wrong. */
const malformed: readonly (readonly [string, readonly string[], number])[] = [
  [`{"value": "${canary}`, [asJson], 400],
  [canary, [asJson], 400],
  [`["${canary}"]`, [asJson], 400],
  [`{"${canary}": "x"}`, [asJson], 400],
  [`{"value": {"${canary}": 1}}`, [asJson], 400],
  [`{"value": ["${canary}"]}`, [asJson], 400],
  [`{"value": "${canary}", "value": 1}`, [asJson], 400],
  [JSON.stringify({ value: `${canary}\n${canary}` }), [asJson], 400],
  [JSON.stringify({ value: canary.repeat(100) }), [asJson], 400],
  [JSON.stringify({ value: canary.repeat(1_000) }), [asJson], 413],
  [JSON.stringify({ value: canary }), ['Content-Type: text/plain'], 415],
  [`value=${canary}`, ['Content-Type: application/x-www-form-urlencoded'], 415],
  [JSON.stringify({ value: canary }), [], 415],
  [JSON.stringify({ value: canary }), [asJson, 'Via: 1.1 proxy'], 403],
  [JSON.stringify({ value: canary }), [asJson, 'Origin: https://evil.example'], 403],
];

test('a value is in no answer, log, audit, metric or frame, whatever comes of it', async () => {
  const world = makeWorld('debug');
  let now: SecretChange | null = { kind: 'done' };
  await using started = await start(world, async () => {
    if (now === null) throw new Error('of the keychain');
    return now;
  });
  const { admin, send } = started;
  const answers: Reply[] = [];
  for (const [outcome] of outcomes) {
    now = outcome;
    answers.push(await started.put(canary));
  }
  now = null;
  answers.push(await started.put(canary));
  now = { kind: 'done' };
  for (const [body, lines, status] of malformed) {
    const answer = await send('PUT', path, body, [own, right, ...lines]);
    assert.equal(answer.status, status, `${lines.join()}: ${answer.body}`);
    answers.push(answer);
  }
  const body = JSON.stringify({ value: canary });
  answers.push(await send('PUT', path, body, [own, asJson]));
  answers.push(await send('PUT', path, body, [own, asJson, 'Authorization: Bearer wrong']));
  answers.push(await send('PUT', path, body, ['Host: evil.example', right, asJson]));
  answers.push(await send('POST', path, body, [own, right, asJson]));
  answers.push(await send('PUT', `${path}/x`, body, [own, right, asJson]));
  const written = world.audited!.length;
  await breakOff(admin.port, body);
  await until('its line in the audit', () => world.audited!.length > written);
  const writes = answers.length;
  for (const page of ['/metrics', '/api/v1/events', '/api/v1/status', '/api/v1/openapi.json']) {
    answers.push(await admin.get(page));
  }
  for (const page of ['/api/v1/secrets', '/api/v1/audit']) {
    answers.push(await admin.send('GET', page, [own, right]));
  }
  const all = [
    ...answers.map((one) => `${one.body}${[...one.headers.values()].join()}`),
    world.log(),
    JSON.stringify(world.audited),
    JSON.stringify(liveEventsOf(world)),
  ].join('\n');
  assert.match(world.log(), /"code":"operator_wrote".*"action":"secret_set"/);
  for (const piece of [canary, canary.slice(0, 8), canary.slice(-8)]) {
    assert.ok(!all.includes(piece), all.slice(Math.max(0, all.indexOf(piece) - 200)).slice(0, 400));
  }
  // A page of numbers may have the length of the longest secret by chance.
  const told = [...answers.slice(0, writes).map((one) => one.body), world.log()].join('\n');
  assert.doesNotMatch(told, new RegExp(`\\b${canary.length * 100}\\b`));
});

function liveEventsOf({ events: { frames: liveEvents } }: World): readonly unknown[] {
  assert.ok(liveEvents.newest > 0);
  return Array.from({ length: liveEvents.newest }, (_, at) => liveEvents.at(at + 1));
}

/** Sends all of the body but its last byte. */
async function breakOff(port: number, body: string): Promise<void> {
  const lines = [own, right, asJson, `Content-Length: ${body.length}`].join('\r\n');
  const socket = connect(port, '127.0.0.1');
  socket.end(`PUT ${path} HTTP/1.1\r\n${lines}\r\n\r\n${body.slice(0, -1)}`);
  socket.resume();
  await new Promise((resolve) => socket.on('close', resolve));
}
