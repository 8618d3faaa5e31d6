import assert from 'node:assert/strict';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { EnvName } from '../../config/secret-value.ts';
import { inspectConfig } from '../../config/inspect.ts';
import { createLookupBeside } from '../../../test/fake/secret-lookup.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { startFakeOllama, type FakeContext } from '../../../test/fake/ollama.ts';
import type { PreflightLine } from './lines.ts';
import { lineOfIdentity, runPreflight } from './preflight.ts';

suite('the preflight', () => {
  let folder = '';
  const seen: string[] = [];
  /** Answers on both wires as much as a probe of a provider needs. */
  const provider: Server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const closed = request.url === '/v1/models' && request.headers.authorization !== 'Bearer good';
    const models = [{ name: 'small:latest' }, { name: 'far:latest', remote_host: 'https://far' }];
    response.writeHead(closed ? 401 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ models, data: [{ id: 'big' }], object: 'list' }));
  });
  let origin = '';

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-preflight-'));
    await new Promise<void>((resolve) => void provider.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  });
  after(() => {
    provider.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const local = (model_id: string): object => ({
    provider: 'local_runtime',
    model_id,
    locality: 'local',
    base_url: origin,
  });
  const hosted = (model_id: string, api_key_env: string): object => ({
    provider: 'hosted_runtime',
    model_id,
    locality: 'cloud',
    base_url: `${origin}/v1`,
    api_key_env,
  });

  type Deps = {
    models: object[];
    sensitivity?: string;
    agent?: object;
    storage?: string;
    outbound?: string;
    signing?: true;
  };

  async function look(
    { models, sensitivity = 'public', agent, storage, outbound = origin, signing }: Deps,
    env: Record<string, string> = {},
    held: string | null = null,
  ): Promise<readonly PreflightLine[]> {
    const webhook = { outbound_url: outbound, ...(signing && { outbound_signing_env: 'SIGN' }) };
    const brain = { name: 'b', sensitivity, policy: { kind: 'priority' }, models, agent };
    const config = {
      channels: [{ type: 'webhook', token_env: 'HOOK', webhook }],
      brains: [brain],
      routes: [{ channel: 'webhook', brain: 'b' }],
      ...(storage !== undefined && { storage: { path: storage } }),
    };
    const file = join(folder, 'svc.json');
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    const inspection = await inspectConfig(file, env);
    assert.equal(inspection.validation.kind, 'valid', JSON.stringify(inspection.validation));
    const surroundings = { version: '0.0.0', heldDatabase: held };
    return runPreflight(inspection, {
      lookup: createLookupBeside({ env: { HOOK: 'a-long-enough-secret', ...env }, cwd: folder }),
      ...surroundings,
    });
  }

  /** Finds the line whose subject begins so, and returns its mark and message. */
  function find(lines: readonly PreflightLine[], subject: string): string {
    const line = lines.find((one) => one.subject.startsWith(subject));
    return line === undefined ? 'no line' : `${line.mark}: ${line.message}`;
  }

  test('a folder that an agent reads and that is not there fails', async () => {
    const [skills, files] = [join(folder, 'skills'), join(folder, 'files')];
    const agent = { tools: ['read_file'], read_file: { root: 'files' }, skills_dir: 'skills' };
    const deps = { models: [local('small')], agent };
    const missing = await look(deps);
    assert.equal(find(missing, skills), 'failed: is no folder; it is to hold the skills of "b"');
    assert.equal(find(missing, files), 'failed: is no folder; it is to hold what "b" may read');
    for (const path of [skills, files]) mkdirSync(path);
    const there = await look(deps);
    assert.equal(find(there, skills), 'ok: holds the skills of "b"');
    assert.equal(find(there, files), 'ok: holds what "b" may read');
  });

  test('a configuration whose world is in order gets only marks of success', async () => {
    const models = [local('small'), hosted('big', 'KEY')];
    const lines = await look({ models, storage: 'new/svc.db' }, { KEY: 'good' });
    assert.deepEqual(
      lines.map((line) => line.mark),
      ['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok'],
      JSON.stringify(lines),
    );
    assert.equal(readdirSync(folder).includes('new'), false, 'nothing was made');
  });

  test('how much a local model reads is told as its runtime says it', async () => {
    const told = async (
      context: FakeContext,
      { isLoaded = false, tokens = null }: { isLoaded?: boolean; tokens?: number | null },
    ): Promise<string> => {
      await using ollama = await startFakeOllama(undefined, { models: ['m:latest'], context });
      const base_url = ollama.url;
      if (isLoaded) {
        const body = JSON.stringify({ model: 'm', stream: false });
        await fetch(`${base_url}/api/chat`, { method: 'POST', body });
      }
      const model = { ...local('m'), base_url, context_tokens: tokens };
      const lines = await look({ models: [model], sensitivity: 'private' });
      const [, line, ...others] = lines.filter(({ subject }) => subject.includes('/m at'));
      assert.equal(others.length, 0);
      assert.equal(ollama.calls.length, isLoaded ? 1 : 0, 'nothing is loaded for a look');
      return `${line!.mark}: ${line!.message}`;
    };
    const hint = 'svc leaves out history beyond that; context_tokens sets another number';
    assert.equal(
      await told({ most: 131_072 }, { isLoaded: true }),
      `ok: is loaded with 4,096 tokens; ${hint}, up to 131,072`,
    );
    const ofFile = await told({ ofFile: 8_192 }, {});
    assert.equal(ofFile, `ok: is not loaded; its model file sets num_ctx 8,192; ${hint}`);
    assert.match(await told({}, {}), /^ok: is not loaded, so its context is not known: Ollama/);
    const given = { isLoaded: true, tokens: 8_192 };
    assert.equal(
      await told({}, given),
      'ok: gets 8,192 tokens, as context_tokens says; ' +
        'it is loaded with 4,096 now, and the next message loads it again',
    );
    const tooMuch = await told({ most: 2_048 }, given);
    assert.equal(tooMuch, 'warning: was made for 2,048 tokens, and context_tokens is 8,192');
  });

  test('a model that a vendor runs, or that is not there, is asked for no context', async () => {
    seen.length = 0;
    await look({ models: [local('far'), local('gone')] });
    assert.deepEqual(
      seen.filter((one) => one.startsWith('POST')),
      [],
    );
  });

  const noProc = platform() !== 'linux' && 'there is no /proc';
  test('a database where nothing can be made fails', { skip: noProc }, async () => {
    const models = [local('small')];
    const storage = '/proc/svc/data/svc.db';
    assert.match(find(await look({ models, storage }), storage), /^failed: .*made in \/proc$/);
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link'));
    const linked = join(folder, 'link', 'svc.db');
    assert.match(find(await look({ models, storage: linked }), linked), /^failed: .*is no folder$/);
  });

  test('a missing secret fails in its own way, and its provider is left alone', async () => {
    seen.length = 0;
    const lines = await look({ models: [hosted('big', 'KEY')] });
    const missing = lines.find((line) => line.secret);
    assert.equal(missing?.refuses, true);
    assert.equal(missing?.subject, 'KEY');
    assert.match(missing?.message ?? '', /brains\[0\]\.models\[0\]\.api_key_env/);
    assert.match(find(lines, 'hosted_runtime/big'), /^warning: was not contacted/);
    assert.deepEqual(seen, []);
  });

  test('a key that cannot sign fails as a missing one does', async () => {
    const signed: Deps = { models: [local('small')], signing: true };
    const unset = (await look(signed)).find(({ secret }) => secret);
    assert.equal(unset?.subject, 'SIGN');
    const unfit = (await look(signed, { SIGN: 'canary' })).find(({ secret }) => secret);
    assert.equal(unfit?.subject, 'channels[0].webhook.outbound_signing_env');
    assert.match(unfit.message, /^the value of SIGN is no signing key/);
    assert.ok(!JSON.stringify(unfit).includes('canary'));
    const fit = await look(signed, { SIGN: `whsec_${'A'.repeat(32)}` });
    assert.equal(
      fit.find(({ secret }) => secret),
      undefined,
    );
    assert.equal(find(fit, 'SIGN'), 'ok: is set in the environment');
  });

  test('two providers at one address are looked at one by one', async () => {
    const other = { ...local('small'), provider: 'hosted_runtime' };
    const lines = await look({ models: [local('small'), other] });
    assert.match(find(lines, 'local_runtime/small'), /^ok/);
    assert.match(find(lines, 'hosted_runtime/small'), /^failed: answers, but has no model/);
  });

  test('a refused key, a missing model and a closed port are failures', async () => {
    const refused = await look({ models: [hosted('big', 'KEY')] }, { KEY: 'wrong' });
    assert.match(find(refused, 'hosted_runtime/big'), /^failed: the key or token was refused/);
    const absent = await look({ models: [local('absent')] });
    assert.match(find(absent, 'local_runtime/absent'), /^failed: .*no model "absent"/);
    const closed = { ...local('small'), base_url: 'http://127.0.0.1:9' };
    const unreachable = await look({ models: [closed] });
    assert.match(find(unreachable, 'local_runtime/small'), /^failed: the address could not be/);
  });

  test('a private brain’s cloud model is named and never contacted', async () => {
    seen.length = 0;
    const lines = await look(
      { models: [local('small'), hosted('big', 'KEY')], sensitivity: 'private' },
      { KEY: 'good' },
    );
    assert.match(find(lines, 'hosted_runtime/big'), /^ok: is never contacted/);
    assert.equal(
      seen.some((one) => one.includes('/v1/')),
      false,
    );
  });

  test('a model that its runtime sends to a vendor fails a private brain only', async () => {
    const models = [local('far')];
    const open = await look({ models });
    assert.match(find(open, 'local_runtime/far'), /^warning: .*vendor/);
    const closed = await look({ models, sensitivity: 'private' });
    assert.match(find(closed, 'local_runtime/far'), /^failed: .*vendor/);
  });

  test('a host for replies that is not found is a warning', async () => {
    const lines = await look({ models: [local('small')], outbound: 'http://nowhere.invalid/' });
    assert.match(find(lines, 'replies to'), /^warning: .*nowhere\.invalid cannot be found/);
  });

  test('the address for replies is connected to, and is sent nothing', async () => {
    const models = [{ ...local('small'), locality: 'cloud' }];
    seen.length = 0;
    const found = find(await look({ models, sensitivity: 'private' }), 'replies to');
    assert.equal(found, 'ok: 127.0.0.1 takes connections');
    assert.deepEqual(seen, []);
    const outbound = `http://127.0.0.1:${closedPort}/replies`;
    const closed = find(await look({ models, outbound }), 'replies to');
    assert.equal(closed, 'warning: nobody takes connections there (ECONNREFUSED)');
  });

  test('each local model of a private brain is looked for', async () => {
    const models = [
      local('small'),
      local('absent'),
      { ...local('small'), base_url: 'http://[::1]:1' },
    ];
    const lines = await look({ models, sensitivity: 'private' });
    const marks = lines
      .filter(({ subject }) => subject.startsWith('local_runtime'))
      .map(({ mark }) => mark);
    assert.deepEqual(marks, ['ok', 'ok', 'failed', 'failed'], 'the first has two lines');
  });

  test('a database is looked at and left as it is', async () => {
    const storage = join(folder, 'notes.txt');
    const models = [local('small')];
    writeFileSync(storage, 'these are my notes, no database', { mode: 0o600 });
    assert.match(find(await look({ models, storage }), storage), /^failed: is no SQLite file/);
    writeFileSync(storage, '');
    assert.match(find(await look({ models, storage }), storage), /^ok: can be written/);
    mkdirSync(join(folder, 'inside'));
    const inside = join(folder, 'inside');
    assert.match(find(await look({ models, storage: inside }), inside), /^failed: is no file/);
    const below = join(storage, 'svc.db');
    assert.match(find(await look({ models, storage: below }), below), /^failed: .*is no folder/);
  });

  test('of a database that this process has open no file is opened', async () => {
    const held = join(folder, 'held.db');
    const models = [local('small')];
    for (const name of ['', '-wal', '.lock']) writeFileSync(`${held}${name}`, 'no SQLite file');
    for (const name of ['', '-wal', '.lock']) {
      const storage = `${held}${name}`;
      assert.equal(
        find(await look({ models, storage }, {}, held), storage),
        'ok: is in use by this service',
      );
      assert.match(find(await look({ models, storage }), storage), /^failed: is no SQLite file/);
    }
    const other = join(folder, 'other-name.db');
    linkSync(held, other);
    assert.match(find(await look({ models, storage: other }, {}, held), other), /^ok: is in use/);
  });

  test('a refused token is a failure, a platform out of reach a warning', () => {
    const bot = { name: 'messenger_a', tokenEnv: 'BOT_TOKEN' as EnvName } as const;
    const known = lineOfIdentity(bot, { kind: 'known', id: '77', name: 'parcel_bot' });
    assert.deepEqual(known, {
      mark: 'ok',
      subject: 'messenger_a',
      message: 'knows the token in BOT_TOKEN: it is parcel_bot (77)',
      remedy: null,
      secret: false,
      refuses: false,
    });
    const noted = lineOfIdentity(bot, { kind: 'known', id: '77', name: 'parcel_bot', note: 'so' });
    assert.equal(noted.message, `${known.message}; so`);
    const refused = lineOfIdentity(bot, { kind: 'refused', message: 'refuses it' });
    assert.equal(refused.mark, 'failed');
    assert.match(refused.remedy ?? '', /BOT_TOKEN/);
    const unreached = lineOfIdentity(bot, { kind: 'unreached', message: 'gives no answer' });
    assert.deepEqual([unreached.mark, unreached.message], ['warning', 'gives no answer']);
  });
});
