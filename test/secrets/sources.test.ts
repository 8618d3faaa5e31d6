/** Secrets from files and credentials, through the whole program. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminToken, startConfigured } from '../config/program.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { outcomeOf } from '../support/run-svc.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

/** A configuration with its servers. @param settings of the document, beside the usual ones */
async function stage(settings: object = {}) {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await scratch());
  const receiver = parts.use(await startReceiver());
  const model = parts.use(await startFakeOllama({ answer: 'hello' }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const file = await writeConfig(folder.path, { ...webhookConfig(where), ...settings });
  const own = parts.move();
  const at = (name: string): string => join(folder.path, name);
  return {
    file,
    at,
    receiver,
    url: `http://127.0.0.1:${port}/webhook`,
    put: (name: string, text: string) => writeFile(at(name), text, { mode: 0o600 }),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** Exit code and output of each command that reads secrets. `serve` ends by itself, refused. */
async function everywhere(file: string, env: Record<string, string>) {
  const commands = [
    ['serve', '--config', file],
    ['config', 'check', file, '--preflight'],
    ['doctor', '--config', file],
  ];
  const outcomes = await Promise.all(commands.map((args) => runCommand(args, { env })));
  return outcomes.map(({ code, out, err }) => ({ code, said: out + err }));
}

test('a mounted file with a line end is the value, as in Docker and Kubernetes', async () => {
  await using on = await stage({ admin: { token_env: 'ADMIN_TOKEN' } });
  // A Kubernetes volume: the names are links through `..data`, which it replaces atomically.
  await mkdir(on.at('..2026_11_21'));
  await on.put('..2026_11_21/hook', `${secret}\n`);
  await on.put('..2026_11_21/admin', `${adminToken}\r\n`);
  await symlink('..2026_11_21', on.at('..data'));
  for (const name of ['hook', 'admin']) await symlink(`..data/${name}`, on.at(name));
  const env = { WEBHOOK_SECRET_FILE: on.at('hook'), ADMIN_TOKEN_FILE: on.at('admin') };
  await using service = startServe(on.file, env);
  await service.saw('"listening"');
  assert.equal((await post(on.url, { sender_id: 'ada', text: 'hello' })).status, 200);
  await on.receiver.waitFor(1);
  assert.doesNotMatch(service.log(), /secret_trimmed|admin_token_unset/);
  const [, check, doctor] = await everywhere(on.file, env);
  for (const { said } of [check!, doctor!]) {
    assert.match(said, /✓ WEBHOOK_SECRET: is in the file that WEBHOOK_SECRET_FILE names\n/);
  }
  const seen = ['status', 'messages'].map((command) =>
    runCommand([command, '--config', on.file], { env }),
  );
  for (const { code, err } of await Promise.all(seen)) assert.deepEqual([code, err], [0, '']);
  assert.equal(await service.stop(), 0);
});

test('a relative path begins where the program was started', async () => {
  await using on = await stage();
  await on.put('hook', secret);
  const env = { HOME: on.at('home'), WEBHOOK_SECRET_FILE: 'hook' };
  const options = { cwd: on.at(''), env };
  const { code, out } = await outcomeOf(['config', 'check', on.file, '--preflight'], options);
  assert.equal(code, 0, out);
  assert.match(out, /✓ WEBHOOK_SECRET: is in the file/);
});

test('a credential of systemd is the value, and a variable comes before it', async () => {
  await using on = await stage();
  await mkdir(on.at('credentials'));
  await on.put('credentials/WEBHOOK_SECRET', 'another-value-of-16-characters');
  const directory = { CREDENTIALS_DIRECTORY: on.at('credentials') };
  for (const [env, right, from] of [
    [directory, 'another-value-of-16-characters', 'is a credential, in \\$CREDENTIALS_DIRECTORY'],
    [{ ...directory, WEBHOOK_SECRET: secret }, secret, 'is set in the environment'],
  ] as const) {
    await using service = startServe(on.file, env);
    await service.saw('"listening"');
    const doctor = await runCommand(['doctor', '--config', on.file], { env });
    assert.match(doctor.out, new RegExp(`✓ WEBHOOK_SECRET: ${from}\n`));
    const statuses = [secret, 'another-value-of-16-characters'].map(async (bearer) => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ sender_id: 'ada', text: 'hello' });
      const { status } = await fetch(on.url, { method: 'POST', headers, body });
      return [bearer === right, status];
    });
    for (const [isRight, status] of await Promise.all(statuses)) {
      assert.equal(status, isRight ? 200 : 401);
    }
    assert.equal(await service.stop(), 0);
  }
});

test('a variable beside a file wins, and one warning names the file’s variable', async () => {
  await using on = await stage();
  const env = { WEBHOOK_SECRET: secret, WEBHOOK_SECRET_FILE: on.at('canary-nowhere') };
  await using service = startServe(on.file, env);
  await service.saw('"listening"');
  assert.equal((await post(on.url, { sender_id: 'ada', text: 'hello' })).status, 200);
  const told = service
    .log()
    .split('\n')
    .filter((line) => line.includes('WEBHOOK_SECRET_FILE'));
  assert.equal(told.length, 1, service.log());
  assert.match(told[0]!, /"level":"warn".*"code":"secret_file_unused"/);
  assert.doesNotMatch(service.log(), /canary/);
  assert.equal(await service.stop(), 0);
});

for (const [what, make, message] of [
  ['is not there', null, 'a file that does not exist'],
  ['is empty', (at) => writeFile(at, '\n'), 'a file that is empty'],
  ['is a folder', (at) => mkdir(at), 'a folder'],
  ['is a pipe', async (at) => void execFileSync('mkfifo', [at]), 'a pipe or a device'],
  [
    'has more than 64 KiB',
    (at) => writeFile(at, 'x'.repeat(65_537)),
    'a file that has more than 64 KiB',
  ],
] as const satisfies readonly [string, ((at: string) => Promise<unknown>) | null, string][]) {
  test(`no command goes on where the file of a secret ${what}`, async () => {
    await using on = await stage({ admin: { token_env: 'ADMIN_TOKEN' } });
    await make?.(on.at('canary'));
    await mkdir(on.at('credentials'));
    await on.put('credentials/WEBHOOK_SECRET', secret);
    const later = { CREDENTIALS_DIRECTORY: on.at('credentials') };
    const env = { ...later, WEBHOOK_SECRET_FILE: on.at('canary') };
    for (const { code, said } of await everywhere(on.file, env)) {
      assert.equal(code, 78, said);
      assert.ok(said.includes(`WEBHOOK_SECRET_FILE names ${message}; it is used at`), said);
      assert.doesNotMatch(said, /canary/, 'the path is not told');
    }
    const readOnly = { WEBHOOK_SECRET: secret, ADMIN_TOKEN_FILE: on.at('canary') };
    await using service = startServe(on.file, readOnly);
    await service.saw('"listening"');
    assert.match(
      service.log(),
      /"admin_token_unset".*ADMIN_TOKEN_FILE names a .*, so the service is read-only/,
    );
    assert.equal(await service.stop(), 0);
  });
}

test('every place where svc looked is named for each secret that is missing', async () => {
  await using on = await stage();
  const env = { WEBHOOK_SECRET_FILE: ' ', CREDENTIALS_DIRECTORY: on.at('credentials') };
  for (const { code, said } of await everywhere(on.file, env)) {
    assert.equal(code, 78);
    assert.match(
      said,
      /WEBHOOK_SECRET:? is set, but empty; it is used at channels\[0\]\.token_env/,
    );
    assert.match(
      said,
      new RegExp(
        'svc looked for WEBHOOK_SECRET in the environment, ' +
          'WEBHOOK_SECRET_FILE in the environment ' +
          '\\(empty\\), WEBHOOK_SECRET in \\$CREDENTIALS_DIRECTORY ' +
          'and WEBHOOK_SECRET in the keychain\\.',
      ),
    );
    assert.match(
      said,
      /LoadCredential= \(\/etc\/credstore\/svc\/WEBHOOK_SECRET\), and restart svc/,
    );
  }
});

test('an apply finds the file of a new name; a name in use keeps its value', async () => {
  await using folder = await scratch();
  const at = (name: string): string => join(folder.path, name);
  const env = { WEBHOOK_SECRET: ' ', WEBHOOK_SECRET_FILE: at('hook'), OUT_FILE: at('out') };
  await writeFile(at('hook'), secret);
  await using service = await startConfigured({}, env);
  assert.equal(await service.say('one'), 'of first');
  const [channel] = service.first.channels;
  const webhook = { ...(channel!['webhook'] as object), outbound_token_env: 'OUT' };
  const next = { ...service.first, channels: [{ ...channel, webhook }] };
  const missing = await service.put(next);
  assert.deepEqual([missing.status, missing.body.code], [422, 'secret_missing']);
  assert.deepEqual(
    missing.body.problems?.map(({ code, path }) => [code, path]),
    [['secret_unreadable', 'channels[0].webhook.outbound_token_env']],
  );
  assert.match(missing.body.detail!, /OUT_FILE names a file that does not exist/);
  await writeFile(at('out'), 'the-first-reply-token\n');
  assert.equal((await service.put(next)).status, 200);
  // Both files have a new value now; svc uses neither before a restart.
  await writeFile(at('out.new'), 'the-second-reply-token\n');
  await rename(at('out.new'), at('out'));
  await writeFile(at('hook'), 'another-webhook-secret');
  const before = await service.revision();
  await writeFile(service.file, `${JSON.stringify(next)}\n\n`);
  service.program.hangUp();
  await until('the file is in use', async () => (await service.revision()) !== before);
  assert.equal(await service.say('two'), 'of first');
  const bearers = async () =>
    (await service.receiver.waitFor(2)).map(({ headers }) => headers.authorization);
  assert.deepEqual(await bearers(), [undefined, 'Bearer the-first-reply-token']);
  await service.restart();
  const refused = await post(`http://127.0.0.1:${service.port}/webhook`, { sender_id: 'ada' });
  assert.equal(refused.status, 401, 'it has the new secret now');
  assert.doesNotMatch(service.program.log(), /reply-token|another-webhook/);
});
