/** Canary secrets through the whole program: no output, answer or storage contains one. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';

const canaries = {
  OUT: 'canary-of-the-replies',
  SIGN: 'whsec_CanaryOfTheSignature0000000000000000',
  KEY: 'sk-canary-of-the-model',
  TOKEN: 'tiny',
};

type Canaries = typeof canaries;
/** Sources of the canaries, as variables; the files are beside the configuration's folder. */
const places: Record<string, (mounted: string) => Promise<Record<string, string>>> = {
  'the environment': async () => canaries,
  files: async (mounted) => {
    const names = Object.keys(canaries) as (keyof Canaries)[];
    const files = names.map(async (name) => {
      const file = join(mounted, `path-of-${name}`);
      await writeFile(file, `${canaries[name]}\n`);
      return [`${name}_FILE`, file];
    });
    return Object.fromEntries(await Promise.all(files)) as Record<string, string>;
  },
  'credentials of systemd': async (mounted) => {
    const entries = Object.entries(canaries);
    await Promise.all(entries.map(([name, value]) => writeFile(join(mounted, name), value)));
    return { CREDENTIALS_DIRECTORY: mounted };
  },
};

for (const [from, lay] of Object.entries(places)) {
  test(`secrets from ${from} go where they belong and are seen nowhere else`, () => seek(lay));
}

async function seek(lay: (mounted: string) => Promise<Record<string, string>>): Promise<void> {
  await using folder = await scratch();
  await using mounted = await scratch();
  // Some providers repeat the key in a 401.
  const echo = JSON.stringify({ error: { message: `bad key ${canaries.KEY}`, code: secret } });
  await using model = await startFakeOpenai({ status: 401, body: echo });
  await using receiver = await startReceiver();
  const port = await freePort();
  const adminPort = await freePort();
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const hosted = { provider: 'hosted_runtime', model_id: 'm', locality: 'cloud' };
  const file = await writeConfig(folder.path, {
    ...config,
    channels: [
      {
        ...config.channels[0],
        webhook: {
          bind: `127.0.0.1:${port}`,
          // The log contains this path, so masking it here means masking it everywhere.
          path: `/${secret}`,
          outbound_url: receiver.url,
          outbound_token_env: 'OUT',
          outbound_signing_env: 'SIGN',
        },
      },
    ],
    brains: [
      {
        ...config.brains[0],
        sensitivity: 'public',
        policy: { kind: 'priority', order: ['nobody'] },
        models: [{ ...hosted, base_url: model.url, api_key_env: 'KEY' }],
      },
    ],
    storage: { path: 'svc.db' },
    admin: { token_env: 'TOKEN' },
  });
  const env = await lay(mounted.path);
  await using program = await serveHere(file, port, env);
  await post(`http://127.0.0.1:${port}/${secret}`, { sender_id: 'ada', text: 'hello' });
  const [reply] = await receiver.waitFor(1);
  assert.equal(reply!.headers.authorization, `Bearer ${canaries.OUT}`);
  const headers = reply!.headers as Record<string, string>;
  assert.deepEqual(new Webhook(canaries.SIGN).verify(reply!.text, headers), reply!.body);
  assert.equal(model.calls[0]!.headers.authorization, `Bearer ${canaries.KEY}`);
  const pages = ['/metrics', '/healthz', '/ui', '/api/v1/openapi.json'].map(async (path) =>
    (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text(),
  );
  const seen = [...(await Promise.all(pages)), JSON.stringify(reply!.body)];
  for (const command of ['doctor', 'status', 'messages']) {
    const surroundings = { env: { WEBHOOK_SECRET: secret, ...env } };
    const { out, err } = await runCommand([command, '--config', file], surroundings);
    seen.push(out, err);
  }
  assert.equal(await program.stop(), 0);
  for (const name of readdirSync(folder.path)) {
    if (name !== 'svc.json') seen.push(readFileSync(join(folder.path, name), 'latin1'));
  }
  const log = program.log();
  for (const value of [secret, canaries.OUT, canaries.SIGN.slice(6), canaries.KEY]) {
    assert.ok(!log.includes(value), log);
    assert.ok(!seen.some((text) => text.includes(value)), value);
  }
  assert.match(log, /"webhook":"http:\/\/127\.0\.0\.1:\d+\/\[secret\]"/);
  assert.ok(!log.includes(mounted.path), 'where they stand is nobody’s business either');
}

test('every warning of the check is a line of the log, of level warn', async () => {
  await using folder = await scratch();
  const port = await freePort();
  const adminPort = await freePort();
  const nowhere = 'http://127.0.0.1:9/';
  const config = webhookConfig({ port, adminPort, modelUrl: nowhere, receiverUrl: nowhere });
  const policy = { kind: 'priority', order: ['nobody'] };
  const file = await writeConfig(folder.path, {
    ...config,
    brains: [
      { ...config.brains[0], policy },
      { ...config.brains[0], name: 'idle' },
    ],
    admin: { token_env: 'TOKEN' },
  });
  await using program = await serveHere(file, port, { WEBHOOK_SECRET: 'short' });
  const lines = program
    .log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: string; code: string; path?: string });
  const warned = lines.filter(({ level }) => level === 'warn').map(({ code }) => code);
  for (const code of ['order_unknown', 'brain_without_route', 'short_token', 'admin_token_unset']) {
    assert.ok(warned.includes(code), `${code} of ${warned.join(' ')}`);
  }
});
