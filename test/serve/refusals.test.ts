/** `svc serve` reports all reasons that prevent its start, and ends with 78. */
import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../support/in-process.ts';
import { scratch } from '../support/program.ts';

const channel = {
  type: 'webhook',
  token_env: 'REFUSAL_HOOK',
  webhook: { outbound_url: 'http://127.0.0.1:9/', outbound_token_env: 'REFUSAL_OUT' },
};
const brain = {
  name: 'b',
  sensitivity: 'public',
  policy: { kind: 'priority' },
  models: [{ provider: 'local_runtime', model_id: 'm', locality: 'local' }],
};
const good = {
  channels: [channel],
  brains: [brain],
  routes: [{ channel: 'webhook', brain: 'b' }],
};

async function serve(
  config: object | string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<string> {
  await using folder = await scratch();
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  writeFileSync(join(folder.path, 'svc.json'), text, { mode: 0o600 });
  const { code, out, err } = await runCommand(['serve', ...args], { cwd: folder.path, env });
  assert.deepEqual([code, out], [78, ''], err);
  return err;
}

test('every problem of the file is told at once, with its place and a remedy', async () => {
  const wrong = { ...good, brains: [{ ...brain, sensitivity: 'secret' }], routes: [] };
  const said = await serve(wrong);
  assert.match(said, /svc\.json:1:\d+ brains\[0\]\.sensitivity\n {2}\S.*\n {2}\S/);
  assert.match(said, /svc\.json:1:\d+ routes\n/);
  assert.match(await serve('{'), /svc\.json:1:\d+/);
});

test('every missing secret is named, with the places that want it', async () => {
  const said = await serve(good);
  assert.match(said, /REFUSAL_HOOK is not set; .*channels\[0\]\.token_env/);
  assert.match(said, /REFUSAL_OUT is not set; .*channels\[0\]\.webhook\.outbound_token_env/);
});

test('a signing key that is none is refused without a word of it', async () => {
  const webhook = { outbound_url: 'http://127.0.0.1:9/', outbound_signing_env: 'REFUSAL_KEY' };
  const signed = { ...good, channels: [{ ...channel, webhook }] };
  for (const value of ['whsec_canaryOfTheKey', 'canaryOfTheKey'.repeat(4)]) {
    const said = await serve(signed, [], { REFUSAL_HOOK: 'x'.repeat(16), REFUSAL_KEY: value });
    const field = 'channels\\[0\\]\\.webhook\\.outbound_signing_env';
    assert.match(said, new RegExp(`^✗ ${field}: the value of REFUSAL_KEY is no signing key: .*`));
    assert.match(said, /Set one such as `echo "whsec_\$\(openssl rand -base64 32\)"` makes\.\n$/);
    assert.doesNotMatch(said, /canary/);
  }
});

test('a file that is not there is named', async () => {
  assert.match(await serve(good, ['--config', 'nowhere.json']), /nowhere\.json/);
});

const noProc = platform() !== 'linux' && 'there is no /proc';
test('a database where no folder can be made is refused at once', { skip: noProc }, async () => {
  await using folder = await scratch();
  symlinkSync(join(folder.path, 'nowhere'), join(folder.path, 'link'));
  const env = { REFUSAL_HOOK: 'x'.repeat(16), REFUSAL_OUT: 'y'.repeat(16) };
  for (const [path, why] of [
    ['/proc/svc/data/svc.db', 'give this user the right to write there, or name another'],
    [join(folder.path, 'link', 'data', 'svc.db'), 'a part of its path is no folder; name another'],
  ] as const) {
    const said = await serve({ ...good, storage: { path } }, [], env);
    assert.match(said, new RegExp(`The database ${path} cannot be made.*${why} storage\\.path`));
  }
});

test('wrong usage ends with 2 and is no configuration problem', async () => {
  for (const args of [['--log-level', 'loud'], ['--confg', 'x'], ['extra']]) {
    const { code, err } = await runCommand(['serve', ...args]);
    assert.equal(code, 2, err);
    assert.match(err, /^svc serve: .*\nSee "svc help serve"\.\n$/);
  }
});
