/** Flags set the addresses of one process, and override its configuration. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { addressFlags } from '../../src/config/own-addresses.ts';
import { asks, lastOf } from '../agents/stage.ts';
import { adminToken, askAdmin } from '../config/program.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, startServe, type Service } from '../support/in-process.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';

const nowhere = 'http://127.0.0.1:9/';
const env = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken };
const on = (port: number): string => `127.0.0.1:${port}`;

/** A configuration with two ports, two more ports for the flags, and `svc serve` on all of them. */
async function stage(modelUrl = nowhere, receiverUrl = nowhere) {
  const folder = await scratch();
  const [port, adminPort] = [await freePort(), await freePort()];
  const own = { webhook: await freePort(), admin: await freePort() };
  const where = { port, adminPort, modelUrl, receiverUrl };
  const document = { ...webhookConfig(where), admin: { token_env: 'ADMIN_TOKEN' } };
  const file = await writeConfig(folder.path, document);
  const flags = ['--webhook-bind', on(own.webhook), '--admin-addr', on(own.admin)];
  return {
    file,
    document,
    port,
    adminPort,
    own,
    flags,
    refused: (more: readonly string[]) => runCommand(['serve', '--config', file, ...more], { env }),
    async serve(more = flags): Promise<Service> {
      const service = startServe(file, env, more);
      await service.saw('"listening"');
      return service;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** The log entries with this code. */
function lines(service: Service, code: string): readonly Record<string, unknown>[] {
  const all = service.log().split('\n');
  const own = all.filter((line) => line.includes(`"code":"${code}"`));
  return own.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Whether something listens there. */
async function isTaken(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const taken = await Promise.race([
    once(server, 'listening').then(() => false),
    once(server, 'error').then(() => true),
  ]).catch(() => true);
  if (!taken) await new Promise((closed) => server.close(closed));
  return taken;
}

test('the flags stand in for both addresses of the file, and are told', async () => {
  await using model = await startFakeOllama({ answer: 'hi' });
  await using receiver = await startReceiver();
  await using scene = await stage(model.url, receiver.url);
  await using service = await scene.serve();
  const [told] = lines(service, 'listening');
  assert.equal(told!['webhook'], `http://${on(scene.own.webhook)}/webhook`);
  assert.equal(told!['admin'], `http://${on(scene.own.admin)}/ui`);
  const url = `http://${on(scene.own.webhook)}/webhook`;
  assert.equal((await post(url, { sender_id: 'ada', text: 'hello' })).status, 200);
  await receiver.waitFor(1);
  assert.equal((await askAdmin(scene.own.admin, 'status')).status, 200);
  assert.deepEqual([await isTaken(scene.port), await isTaken(scene.adminPort)], [false, false]);
});

test('one flag leaves the other address to the file', async () => {
  await using scene = await stage();
  await using service = await scene.serve(['--admin-addr', on(scene.own.admin)]);
  const [told] = lines(service, 'listening');
  assert.equal(told!['webhook'], `http://${on(scene.port)}/webhook`);
  assert.equal(told!['admin'], `http://${on(scene.own.admin)}/ui`);
});

test('a flag moves the completions API, even if the file has another address', async () => {
  await using scene = await stage();
  const [port, own] = [await freePort(), await freePort()];
  const completions = { token_env: 'WEBHOOK_SECRET', bind: on(port) };
  await writeFile(scene.file, JSON.stringify({ ...scene.document, completions }));
  await using service = await scene.serve(['--completions-bind', on(own)]);
  const ask = () =>
    fetch(`http://${on(own)}/v1/models`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(lines(service, 'listening')[0]!['completions'], `http://${on(own)}/v1`);
  assert.deepEqual([(await ask()).status, await isTaken(port)], [200, false]);
  const next = { ...completions, bind: `127.0.0.2:${port}` };
  await writeFile(scene.file, JSON.stringify({ ...scene.document, completions: next }));
  service.hangUp();
  await service.saw('"address_by_flag"');
  assert.match(
    String(lines(service, 'address_by_flag')[0]!['message']),
    /^completions\.bind is 127\.0\.0\.2:\d+ now, .* --completions-bind says/,
  );
  assert.equal((await ask()).status, 200);
});

test('two processes share one file', async () => {
  await using scene = await stage();
  await using first = await scene.serve([]);
  await using second = await scene.serve();
  assert.equal((await askAdmin(scene.adminPort, 'status')).status, 200);
  assert.equal((await askAdmin(scene.own.admin, 'status')).status, 200);
  assert.deepEqual([await first.stop(), await second.stop()], [0, 0]);
});

/** The configuration with both addresses changed to ports that this process does not know. */
function moved(document: ReturnType<typeof webhookConfig>, port: number): object {
  const [channel] = document.channels;
  const webhook = { ...(channel!['webhook'] as object), bind: `127.0.0.2:${port}` };
  return {
    ...document,
    channels: [{ ...channel, webhook }],
    observability: { addr: `127.0.0.2:${port + 1}` },
  };
}

const unheeded = (scene: { readonly own: { webhook: number; admin: number } }, port: number) => [
  `webhook.bind is 127.0.0.2:${port} now, which has no effect on this process: --webhook-bind ` +
    `says ${on(scene.own.webhook)}.`,
  `observability.addr is 127.0.0.2:${port + 1} now, which has no effect on this process: ` +
    `--admin-addr says ${on(scene.own.admin)}.`,
];

test('the file may be taken again with other addresses: one notice, no restart', async () => {
  await using scene = await stage();
  await using service = await scene.serve();
  await writeFile(scene.file, JSON.stringify(moved(scene.document, scene.port)));
  service.hangUp();
  await Promise.race([
    service.saw('"address_by_flag"'),
    service.saw('"config_not_applied"').then(() => assert.fail(service.log())),
  ]);
  assert.deepEqual(
    lines(service, 'address_by_flag').map(({ message }) => message),
    [unheeded(scene, scene.port).join(' ')],
  );
  const url = `http://${on(scene.own.webhook)}/webhook`;
  assert.equal((await post(url, { sender_id: 'ada', text: 'hello' })).status, 200);
  assert.equal((await askAdmin(scene.own.admin, 'status')).status, 200);
  assert.deepEqual(lines(service, 'config_not_applied'), []);
});

test('the operator who applies other addresses is told the same', async () => {
  await using scene = await stage();
  await using service = await scene.serve();
  const { etag } = await askAdmin(scene.own.admin, 'config');
  const body = JSON.stringify(moved(scene.document, scene.port));
  const put = { method: 'PUT', body, ifMatch: etag! };
  const { status, body: told } = await askAdmin(scene.own.admin, 'config', put);
  assert.equal(status, 200, JSON.stringify(told));
  assert.deepEqual(told.changes!.slice(-2), unheeded(scene, scene.port));
  assert.equal(lines(service, 'address_by_flag').length, 1);
  const again = { ...put, ifMatch: told.revision!, body: `${body}\n` };
  const next = await askAdmin(scene.own.admin, 'config', again);
  assert.deepEqual([next.status, next.body.changes], [200, []], 'nothing of it has changed again');
  assert.equal(lines(service, 'address_by_flag').length, 1);
  assert.equal(await service.stop(), 0);
});

test('what no flag says still needs a restart', async () => {
  await using scene = await stage();
  await using service = await scene.serve(['--webhook-bind', on(scene.own.webhook)]);
  await writeFile(scene.file, JSON.stringify(moved(scene.document, scene.port)));
  service.hangUp();
  await service.saw('"config_not_applied"');
  const [told] = lines(service, 'config_not_applied');
  assert.match(String(told!['message']), /observability\.addr: this cannot change while svc runs/);
  assert.doesNotMatch(String(told!['message']), /webhook/);
});

test('a draft is checked with the addresses of the process that is asked', async () => {
  await using scene = await stage();
  await using _service = await scene.serve();
  const twice = { ...scene.document, observability: { addr: on(scene.port) } };
  const asked = { method: 'POST', body: JSON.stringify(twice) };
  const { body } = await askAdmin(scene.own.admin, 'config/validate', asked);
  assert.deepEqual(body.problems, [], 'here the two of the file meet nowhere');
});

for (const [flag, written] of [
  ['--webhook-bind', '8090'],
  ['--webhook-bind', 'http://127.0.0.1:8090'],
  ['--admin-addr', '127.0.0.1:66000'],
  ['--admin-addr', '::1:2112'],
  ['--completions-bind', '8092'],
] as const) {
  test(`${flag} ${written} is wrong usage, with what to write instead`, async () => {
    await using scene = await stage();
    const { code, err } = await scene.refused([flag, written]);
    assert.equal(code, 2);
    assert.ok(
      err.startsWith(`svc serve: ${flag} is an address to listen on, and "${written}"`),
      err,
    );
    assert.match(
      err,
      /Write host:port, :port or \[::1\]:port, with a port .*, such as 127\.0\.0\.1/,
    );
  });
}

test('--webhook-bind twice for one webhook is wrong usage', async () => {
  await using scene = await stage();
  for (const [name, words] of [
    ['', 'without a name'],
    ['intake=', 'for intake'],
  ] as const) {
    const flags = [`${name}:8090`, `${name}:8091`].flatMap((text) => ['--webhook-bind', text]);
    const { code, err } = await scene.refused(flags);
    assert.equal(code, 2);
    assert.ok(err.startsWith(`svc serve: --webhook-bind stands twice ${words}.`), err);
  }
});

test('an address that is taken ends the boot with 78, and the flag is named', async (t) => {
  await using scene = await stage();
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => void taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const completions = { token_env: 'WEBHOOK_SECRET' };
  await writeFile(scene.file, JSON.stringify({ ...scene.document, completions }));
  for (const flag of Object.values(addressFlags)) {
    const { code, err } = await scene.refused([flag, on(port)]);
    assert.equal(code, 78);
    assert.match(
      err,
      new RegExp(`"${flag}: cannot listen on 127\\.0\\.0\\.1:${port} \\(EADDRINUSE`),
    );
  }
});

test('an address for the completions API is a warning where there is none', async () => {
  await using scene = await stage();
  await using service = await scene.serve(['--completions-bind', on(scene.own.webhook)]);
  const [told] = lines(service, 'flag_unused');
  assert.match(String(told!['message']), /--completions-bind has no effect/);
});

test('two flags of one address are a problem, and so is one that meets the file', async () => {
  await using scene = await stage();
  const both = await scene.refused(['--webhook-bind', ':2112', '--admin-addr', on(2112)]);
  assert.equal(both.code, 78);
  assert.match(both.err, /on one address \(--webhook-bind, --admin-addr\)/);
  const one = await scene.refused(['--admin-addr', on(scene.port)]);
  assert.equal(one.code, 78);
  assert.match(one.err, /on one address \(--admin-addr\)/);
});

test('addresses beyond loopback, and flags that nothing heeds, are warned of', async () => {
  await using scene = await stage();
  const { channels: _, ...document } = scene.document;
  const bot = { type: 'messenger_a', token_env: 'BOT_TOKEN', mode: 'polling', base_url: nowhere };
  const routes = [{ channel: 'messenger_a', brain: 'echo' }];
  const alone = { ...document, channels: [bot], routes, observability: { enabled: false } };
  const warned = async (more: readonly string[]): Promise<readonly string[]> => {
    const service = startServe(scene.file, { ...env, BOT_TOKEN: `7:${'x'.repeat(35)}` }, more);
    await service.saw('"listening"');
    await service.stop();
    const codes = ['not_loopback', 'flag_unused'].flatMap((code) => lines(service, code));
    return codes.map(({ message }) => String(message));
  };
  const open = [`0.0.0.0:${scene.own.webhook}`, `0.0.0.0:${scene.own.admin}`] as const;
  const said = await warned(['--webhook-bind', open[0], '--admin-addr', open[1]]);
  assert.match(
    said.join('\n'),
    /reach the webhook \(--webhook-bind\), .*reach the admin server \(-/s,
  );
  assert.equal(said.length, 2);
  await writeFile(scene.file, JSON.stringify(alone));
  const idle = await warned(scene.flags);
  assert.equal(idle.length, 2);
  assert.match(idle.join('\n'), /no channel listens, and --webhook-bind has no effect/);
  assert.match(idle.join('\n'), /server is off, and --admin-addr does not switch it on/);
  assert.deepEqual(await warned([]), []);
});

/** The configuration with a second webhook, which shares the address of the first one. */
function withIntake(document: ReturnType<typeof webhookConfig>) {
  const [channel] = document.channels;
  const webhook = { ...(channel!['webhook'] as object), path: '/intake' };
  return {
    ...document,
    channels: [channel!, { ...channel, name: 'intake', webhook }],
    routes: [...document.routes, { channel: 'intake', brain: 'echo' }],
  };
}

test('of several webhooks each flag names one, and a flag without a name is unclear', async () => {
  await using scene = await stage();
  await writeFile(scene.file, JSON.stringify(withIntake(scene.document)));
  const refusals = [
    [on(9), `--webhook-bind ${on(9)} does not say which webhook it means`],
    [`intaek=${on(9)}`, '--webhook-bind names intaek, and no webhook has this name'],
    [`In Take=${on(9)}`, '"In Take" is no name of a channel'],
    ['intake=8090', '--webhook-bind is an address to listen on, and "8090" is none'],
  ] as const;
  for (const [written, sentence] of refusals) {
    const { code, err } = await scene.refused(['--webhook-bind', written]);
    assert.equal(code, 2, err);
    assert.ok(err.startsWith(`svc serve: ${sentence}`), err);
  }
});

test('a second webhook is refused while the flag of the first has no name', async () => {
  await using scene = await stage();
  await using service = await scene.serve();
  await writeFile(scene.file, JSON.stringify(withIntake(scene.document)));
  service.hangUp();
  await service.saw('"config_not_applied"');
  const [told] = lines(service, 'config_not_applied');
  assert.match(String(told!['message']), /Write --webhook-bind NAME=.*, with one of: webhook, int/);
});

test('an agent reaches svc as little at the addresses of the flags', async () => {
  await using model = await startFakeOllama((call) => {
    const { role, content } = lastOf(call);
    return role === 'user' ? asks('http_fetch', { url: content }) : { answer: content };
  });
  await using receiver = await startReceiver();
  await using scene = await stage(model.url, receiver.url);
  const [brain] = scene.document.brains;
  const agent = { tools: ['http_fetch'], http_fetch: { allow_hosts: ['127.0.0.1'] } };
  const brains = [{ ...brain, agent }];
  await writeFile(scene.file, JSON.stringify({ ...scene.document, brains }));
  await using _service = await scene.serve();
  const ports = [scene.own.webhook, scene.own.admin];
  for (const port of ports) {
    const text = `http://${on(port)}/healthz`;
    await post(`http://${on(scene.own.webhook)}/webhook`, { sender_id: 'ada', text });
  }
  for (const { body } of await receiver.waitFor(2)) {
    assert.match(String(body['text']), /svc itself, its database, or a server/);
  }
});
