/** The modules that a service has loaded when it listens: each costs every start. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { freePort, scratch, secret, startProgram, webhookConfig } from '../support/program.ts';

const preload = pathToFileURL(join(import.meta.dirname, '../fake/loaded-when-listening.ts')).href;

const nowhere = 'http://127.0.0.1:9';

type Loaded = { readonly parts: readonly string[]; readonly packages: readonly string[] };

/** Runs a service from its sources, where the packages are still separate. */
async function loadedWhenListening(storage: object): Promise<Loaded> {
  await using folder = await scratch();
  const [port, adminPort] = [await freePort(), await freePort()];
  const ports = { port, adminPort, modelUrl: nowhere, receiverUrl: nowhere };
  const file = join(folder.path, 'svc.json');
  await writeFile(file, JSON.stringify({ ...webhookConfig(ports), ...storage }), { mode: 0o600 });
  await using service = startProgram(['serve', '--config', file], {
    NODE_OPTIONS: `--import=${preload}`,
    SVC_FROM_SOURCES: '1',
    WEBHOOK_SECRET: secret,
  });
  await service.saw('"listening"');
  const [, line] = /^loaded (.*)$/m.exec(service.log())!;
  return JSON.parse(line!) as Loaded;
}

for (const [form, storage] of [
  ['without storage', {}],
  ['with SQLite', { storage: { path: 'svc.db' } }],
] as const) {
  let once: Promise<Loaded> | null = null;
  const loaded = (): Promise<Loaded> => (once ??= loadedWhenListening(storage));

  test(`a service ${form} listens before the fetch inside Node is loaded`, async () => {
    const { parts } = await loaded();
    assert.ok(parts.includes('NativeModule http'), 'it looks at the right moment');
    const late = parts.filter((part) => /undici|http2|https/.test(part));
    assert.deepEqual(late, []);
  });

  test(`a service ${form} listens before node:crypto is loaded`, async () => {
    const { parts } = await loaded();
    const late = parts.filter((part) => part.includes('crypto'));
    assert.deepEqual(late, []);
  });

  test(`a service ${form} listens before any package is loaded`, async () => {
    assert.deepEqual((await loaded()).packages, []);
  });
}
