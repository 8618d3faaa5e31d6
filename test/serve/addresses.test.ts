/** Occupied addresses: those that cost only the admin server, and those that fail the boot. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import type { Listening, Setup } from '../../src/app/run-contract.ts';
import { runService } from '../../src/app/run.ts';
import { createLookupBeside } from '../fake/secret-lookup.ts';
import type { Config } from '../../src/config/config.ts';
import { validateText } from '../../src/config/validate.ts';
import { createLog } from '../../src/lib/log.ts';
import type { EnvName } from '../../src/config/secret-value.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const nowhere = 'http://127.0.0.1:9/';

async function occupy(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
}

/** A service without storage. */
function setupOf(config: Config, log: Writable): Omit<Setup, 'stop'> {
  return {
    config,
    text: '',
    file: '/nowhere/svc.json',
    env: {},
    lookup: createLookupBeside({ env: {}, cwd: '/' }),
    onReload: null,
    storage: null,
    secrets: new Map([['WEBHOOK_SECRET' as EnvName, 'a-secret-of-16-characters']]),
    warnings: [],
    log: createLog({ stream: log, level: 'info', format: 'json' }),
    version: '0',
    webRoot: new URL('../../web/dist/', import.meta.url),
  };
}

test('of several webhooks the one whose address is taken is named with its field', async () => {
  await using taken = await occupy();
  const where = { port: await freePort(), adminPort: await freePort() };
  const document = webhookConfig({ ...where, modelUrl: nowhere, receiverUrl: nowhere });
  const [first] = document.channels as [{ webhook: object }];
  const bind = `127.0.0.1:${taken.port}`;
  const second = { ...first, name: 'intake', webhook: { ...first.webhook, bind } };
  const validation = validateText(
    JSON.stringify({
      ...document,
      channels: [first, second],
      routes: [...document.routes, { channel: 'intake', brain: 'echo' }],
    }),
  );
  assert.ok(validation.kind === 'valid');
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const stop = new AbortController();
  const ending = await runService({ ...setupOf(validation.config, silence), stop: stop.signal });
  assert.ok(ending.kind === 'refused');
  assert.deepEqual(ending.unbound, { field: 'channels[1].webhook.bind', address: bind });
  assert.match(ending.message, /^webhook\.bind of the channel intake: cannot listen on /);
});

test('an address of the completions API that is taken is named with its field', async () => {
  await using taken = await occupy();
  const where = { port: await freePort(), adminPort: await freePort() };
  const document = webhookConfig({ ...where, modelUrl: nowhere, receiverUrl: nowhere });
  const bind = `127.0.0.1:${taken.port}`;
  const completions = { bind, token_env: 'WEBHOOK_SECRET' };
  const validation = validateText(JSON.stringify({ ...document, completions }));
  assert.ok(validation.kind === 'valid', JSON.stringify(validation));
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const { signal } = new AbortController();
  const ending = await runService({ ...setupOf(validation.config, silence), stop: signal });
  assert.ok(ending.kind === 'refused');
  assert.deepEqual(ending.unbound, { field: 'completions.bind', address: bind });
  assert.match(ending.message, /^completions\.bind: cannot listen on /);
});

test('a written admin address that is taken, and a webhook one, end the boot with 78', async () => {
  await using folder = await scratch();
  await using taken = await occupy();
  const free = await freePort();
  const where = { modelUrl: nowhere, receiverUrl: nowhere };
  for (const ports of [
    { port: free, adminPort: taken.port },
    { port: taken.port, adminPort: free },
  ]) {
    const file = await writeConfig(folder.path, webhookConfig({ ...where, ...ports }));
    const env = { WEBHOOK_SECRET: 'a-secret-of-16-characters' };
    const { code, err } = await runCommand(['serve', '--config', file], { env });
    assert.equal(code, 78);
    assert.match(err, new RegExp(`127\\.0\\.0\\.1:${taken.port}`));
  }
});

test('the default admin address that is taken is warned of, and the service runs', async () => {
  await using taken = await occupy();
  const port = await freePort();
  const where = { port, adminPort: taken.port, modelUrl: nowhere, receiverUrl: nowhere };
  const validation = validateText(JSON.stringify(webhookConfig(where)));
  assert.ok(validation.kind === 'valid');
  const { config } = validation;
  const { observability } = config;
  const address = { ...observability.address, given: false };
  let log = '';
  const stop = new AbortController();
  const stream = new Writable({
    write: (part: Buffer, _encoding, done) => {
      log += part.toString();
      done();
    },
  });
  const listening = Promise.withResolvers<Listening>();
  const running = runService({
    ...setupOf({ ...config, observability: { ...observability, address } }, stream),
    stop: stop.signal,
    abandon: stop.signal,
    onListening: listening.resolve,
  });
  assert.equal((await listening.promise).admin, null);
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 200);
  stop.abort();
  assert.equal((await running).kind, 'ended');
  assert.match(log, /"level":"warn","code":"admin_off"/);
  assert.match(log, /choose another port\. It is off for this run\./);
});

test('an admin server on port 0 tells the port that it has', async () => {
  await using folder = await scratch();
  const port = await freePort();
  const where = { port, adminPort: 0, modelUrl: nowhere, receiverUrl: nowhere };
  const file = await writeConfig(folder.path, webhookConfig(where));
  await using program = await serveHere(file, port);
  const [, admin = ''] = /"admin":"(http:[^"]+)"/.exec(program.log()) ?? [];
  assert.doesNotMatch(admin, /:0\//);
  assert.equal((await fetch(admin)).status, 200);
});
