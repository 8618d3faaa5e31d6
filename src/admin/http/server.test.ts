import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  addressOf,
  listeners,
  live,
  makeWorld,
  openAdmin,
  messageId,
  secretName,
  senderId,
  webRoot,
  withToken,
} from '../../../test/fake/admin-world.ts';
import type { Status } from '../admin.ts';
import { createAdminServer } from './server.ts';

const paths = [
  ['/healthz', 'application/json'],
  ['/metrics', 'text/plain; version=0.0.4; charset=utf-8'],
  ['/ui', 'text/html; charset=utf-8'],
  ['/api/v1/status', 'application/json'],
  ['/api/v1/openapi.json', 'application/json'],
] as const;

test('every path answers GET itself, and HEAD with the same headers and no body', async () => {
  await using admin = await openAdmin(makeWorld());
  for (const [path, contentType] of paths) {
    const got = await admin.get(`${path}?at=1`);
    assert.equal(got.status, 200, path);
    assert.equal(got.headers.get('content-type'), contentType);
    assert.ok(got.body.length > 10);
    const head = await admin.ask('HEAD', path);
    assert.equal(head.status, 200);
    assert.equal(head.body, '');
    assert.equal(head.headers.get('content-type'), contentType);
    assert.ok(Number(head.headers.get('content-length')) > 10);
  }
});

test('every answer, an error too, forbids frames, sniffing, caching, foreign code', async () => {
  await using admin = await openAdmin(makeWorld());
  for (const path of ['/ui', '/healthz', '/nothing']) {
    const { headers } = await admin.get(path);
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.match(policy, /frame-ancestors 'none'; require-trusted-types-for 'script'$/);
    assert.doesNotMatch(policy, /unsafe|https?:/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('access-control-allow-origin'), null);
  }
});

test('other methods are 405 with Allow, unknown paths and the builder 404', async () => {
  await using admin = await openAdmin(makeWorld());
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    const { status, headers, body } = await admin.ask(method, '/ui');
    assert.equal(status, 405, method);
    assert.equal(headers.get('allow'), 'GET, HEAD');
    assert.equal((JSON.parse(body) as { code: string }).code, 'method_not_allowed');
  }
  for (const path of ['/', '/builder', '/ui/', '/ui/../healthz', '/ui/%2e%2e/x', '/__proto__']) {
    const { status, headers, body } = await admin.get(path);
    assert.equal(status, 404, path);
    assert.equal(headers.get('content-type'), 'application/problem+json');
    assert.equal((JSON.parse(body) as { status: number }).status, 404);
  }
});

test('on loopback only known host names may read; probes come under any name', async () => {
  await using admin = await openAdmin(makeWorld(), { allowedHosts: ['Desk.lan', 'box'] });
  const known = ['127.0.0.1:9', 'localhost', 'LOCALHOST:2112', '[::1]', '[::1]:80', 'desk.lan:1'];
  for (const host of [...known, 'box']) {
    assert.equal((await admin.get('/api/v1/status', host)).status, 200, host);
  }
  const unknown = ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', '127.0.0.2', ''];
  const odd = [
    '[::1].evil',
    '[::ffff:127.0.0.1]',
    '::1',
    'localhost:1:2',
    'localhost.',
    'a@localhost',
  ];
  const twice = 'localhost\r\nHost: evil.example';
  for (const host of [...unknown, ...odd, twice, '127.1', '0.0.0.0']) {
    for (const path of ['/api/v1/status', '/ui', '/ui/live.js', '/nothing']) {
      assert.equal((await admin.get(path, host)).status, 421, `${host} ${path}`);
    }
    assert.equal((await admin.get('/healthz', host)).status, 200);
    assert.equal((await admin.get('/metrics', host)).status, 200);
  }
});

test('a target that names its host outweighs the Host header', async () => {
  await using admin = await openAdmin(makeWorld());
  const own = `http://127.0.0.1:${admin.port}/api/v1/status?x`;
  assert.equal((await admin.get(own, 'evil.example')).status, 200);
  for (const host of ['evil.example', 'a@127.0.0.1', '']) {
    assert.equal((await admin.get(`http://${host}/api/v1/status`)).status, 421, host);
  }
  assert.equal((await admin.get('http://localhost')).status, 404);
});

test('bound beyond loopback every host name may read', async () => {
  await using admin = await openAdmin(makeWorld(), { loopback: false });
  assert.equal((await admin.get('/api/v1/status', 'svc.example')).status, 200);
});

test('healthz is 503 with the reason when svc cannot work, not for one channel', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  const fine = await admin.get('/healthz');
  assert.equal(fine.status, 200);
  assert.ok(fine.body.startsWith('{"status":"ok"'), fine.body);
  assert.match(fine.body, /"webhook","state":"degraded"/);
  world.health = { status: 'failing', reason: 'The disk is full.' };
  const bad = await admin.get('/healthz');
  assert.equal(bad.status, 503);
  assert.match(bad.body, /^\{"status":"failing","reason":"The disk is full\."/);
});

test('the status tells states, times and counts, and nothing of anyone', async () => {
  const world = makeWorld();
  live(world.events);
  world.clockMs += 90_000;
  await using admin = await openAdmin(world);
  const { body } = await admin.get('/api/v1/status');
  const status = JSON.parse(body) as Status;
  assert.equal(status.uptimeMs, 90_000);
  assert.equal(status.storage, 'memory');
  assert.deepEqual(
    status.channels.map(({ type, state, brain }) => [type, state, brain]),
    [
      ['webhook', 'degraded', 'main'],
      ['messenger_a', 'unrouted', null],
    ],
  );
  assert.deepEqual(
    status.brains.map((brain) => brain.models.map((model) => model.state)),
    [
      ['asked', 'dropped'],
      ['asked', 'asked'],
    ],
  );
  assert.equal(status.brains[0]!.models[1]!.name, 'hosted_runtime/big');
  assert.deepEqual(status.backlog[1], {
    channel: 'messenger_a',
    inbox: 2,
    outbox: 2,
    unroutable: 3,
    oldestAt: 997_000,
  });
  assert.deepEqual([status.access, status.perMinute], ['read_only', 0]);
  assert.equal(status.plan.usedAt, 1_000_050);
  assert.deepEqual(status.counts, {
    accepted: 1,
    duplicates: 0,
    refused: 1,
    settled: 2,
    delivered: 1,
    deadLetters: 1,
    faults: 0,
    waiting: 7,
    inFlight: 2,
    deadLettersKept: 6,
  });
  const [provider] = status.providers;
  assert.deepEqual([provider?.answers, provider?.failures], [1, 1]);
  const standings = status.providers.map(({ state, standing, since }) => [state, standing, since]);
  assert.deepEqual(standings, [
    ['up', 'up', 1_000_000],
    ['unknown', 'unknown', null],
  ]);
  assert.deepEqual(
    status.models.map(({ model, answers, failures, inUse }) => [model, answers, failures, inUse]),
    [
      ['local_runtime/small', 1, 1, true],
      ['hosted_runtime/big', 0, 0, true],
    ],
  );
  assert.deepEqual(status.models[0]!.window, {
    oneMinute: { answers: 0, failures: 0 },
    fiveMinutes: { answers: 1, failures: 1 },
  });
  assert.deepEqual(
    status.answering?.map(({ brain, standing }) => [brain, standing]),
    [['main', 'up']],
  );
  assert.ok(status.times.turns.p50Ms! > 25 && status.times.turns.p50Ms! <= 50);
  assert.equal(status.warnings[0]?.code, 'open_bind');
  for (const hidden of [secretName, senderId, messageId, 'the answer', 'receiver.example']) {
    assert.ok(!body.includes(hidden), hidden);
  }
});

test('a fault behind a page is a 500 that tells nothing of it, and is reported', async () => {
  const world = makeWorld();
  const ports = {
    ...world.ports,
    gauges: () => {
      throw new Error('private detail');
    },
  };
  await using admin = await openAdmin({ ...world, ports });
  const { status, body } = await admin.get('/api/v1/status');
  assert.equal(status, 500);
  assert.doesNotMatch(body, /private detail|\.ts/);
  assert.equal(world.events.meters.faults, 1);
  assert.equal((await admin.get('/healthz')).status, 200);
});

test('a file of the page that is not there is a 404, not a fault', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world, { webRoot: `${webRoot}/none` });
  assert.equal((await admin.get('/ui')).status, 404);
  assert.equal(world.events.meters.faults, 0);
});

test('a builder that is not built is a 404, also to who would have to sign in', async () => {
  const options = { webRoot: `${webRoot}/none`, access: withToken };
  await using admin = await openAdmin(makeWorld(), options);
  const { status, headers, body } = await admin.get('/builder');
  assert.deepEqual([status, (JSON.parse(body) as { status: number }).status], [404, 404]);
  assert.equal(headers.get('www-authenticate'), null);
});

test('an asset is a file of the folder of assets, whatever name is asked for', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'svc-pages-'));
  await mkdir(join(folder.path, 'live', 'assets', 'deep'), { recursive: true });
  for (const name of ['assets/page.js', 'assets/deep/page.js', 'beside.js', 'assets/.hidden.js']) {
    await writeFile(join(folder.path, 'live', name), '1');
  }
  await using admin = await openAdmin(makeWorld(), { webRoot: folder.path });
  const statusOf = async (name: string) => (await admin.get(`/ui/assets/${name}`)).status;
  assert.equal(await statusOf('page.js'), 200);
  for (const name of ['..%2Fbeside.js', '%2E%2E%2Fbeside.js', 'deep%2Fpage.js', '.hidden.js']) {
    assert.equal(await statusOf(name), 404, name);
  }
});

test('an asset comes compressed where that is accepted and possible', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'svc-pages-'));
  const assets = join(folder.path, 'live', 'assets');
  await mkdir(assets, { recursive: true });
  for (const name of ['page.js', 'page.js.br', 'page.js.gz', 'plain.js']) {
    await writeFile(join(assets, name), name);
  }
  await using admin = await openAdmin(makeWorld(), { webRoot: folder.path });
  const cases: readonly (readonly [string, string, string | null])[] = [
    ['gzip, deflate, br, zstd', 'page.js.br', 'br'],
    ['gzip', 'page.js.gz', 'gzip'],
    ['BR;q=0, gzip ; Q=0.5', 'page.js.gz', 'gzip'],
    ['br;q=0.000,gzip;q=0', 'page.js', null],
    ['identity', 'page.js', null],
    ['*', 'page.js', null],
    ['', 'page.js', null],
  ];
  for (const [accepted, body, coding] of cases) {
    const head = ['Host: localhost', `Accept-Encoding: ${accepted}`];
    const came = await admin.send('GET', '/ui/assets/page.js', head);
    assert.deepEqual([came.body, came.headers.get('content-encoding')], [body, coding], accepted);
    assert.equal(came.headers.get('vary'), 'accept-encoding');
    assert.equal(came.headers.get('content-type'), 'text/javascript; charset=utf-8');
    const asked = await admin.send('HEAD', '/ui/assets/page.js', head);
    // The clock may have moved to the next second.
    for (const { headers } of [asked, came]) headers.delete('date');
    assert.deepEqual([...asked.headers], [...came.headers]);
    assert.equal(asked.headers.get('content-length'), String(body.length));
  }
  const br = ['Host: localhost', 'Accept-Encoding: br'];
  const own = await admin.send('GET', '/ui/assets/plain.js', br);
  assert.deepEqual([own.body, own.headers.get('content-encoding')], ['plain.js', null]);
  assert.equal((await admin.send('GET', '/ui/assets/page.js.br', br)).status, 404);
});

test('an address that is taken is a problem that names it, for the caller to judge', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  const address = addressOf('127.0.0.1', true, admin.port);
  await using second = createAdminServer(world.ports, {
    address,
    allowedHosts: () => [],
    access: withToken,
    listeners,
    webRoot,
  });
  const opened = await second.open();
  assert.equal(opened.kind, 'problem');
  assert.ok(opened.kind === 'problem' && opened.code === 'EADDRINUSE');
  assert.match(opened.message, new RegExp(`127\\.0\\.0\\.1:${admin.port}`));
});
