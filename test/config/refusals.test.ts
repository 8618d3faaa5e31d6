/** Each refusal of a new configuration: the old one runs on, and its file stays. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { runCommand } from '../support/in-process.ts';
import { secret } from '../support/program.ts';
import { adminToken, startConfigured, type Told } from './program.ts';

type Service = Awaited<ReturnType<typeof startConfigured>>;

/** Asserts that nothing of the old one has changed. */
async function assertRefused(
  service: Service,
  told: Told,
  status: number,
  code: string,
): Promise<void> {
  assert.equal(told.status, status, JSON.stringify(told));
  assert.equal(told.body.code, code);
  assert.match(told.body.detail!, /^\S.*[.]$/s);
  const used = await service.ask('config');
  assert.equal(used.body.text, JSON.stringify(service.first, null, 2));
  assert.equal(await service.say('hello'), 'of first');
  const files = await readdir(service.folder);
  assert.deepEqual(
    files.filter((name) => name.startsWith('.')),
    [],
  );
  const { rows } = (await service.ask('config/history')).body;
  assert.equal(rows!.length, 1);
}

async function assertFileStays(service: Service): Promise<void> {
  assert.equal(await service.onDisk(), JSON.stringify(service.first, null, 2));
}

const missing = { token_env: 'NOT_SET_ANYWHERE' };

test('what is no configuration, or lacks a secret, names every problem', async () => {
  await using service = await startConfigured();
  const { first } = service;
  for (const [text, codes] of [
    ['', ['syntax']],
    ['{"channels":[]', ['syntax']],
    [
      JSON.stringify({ ...first, routes: [{ channel: 'webhook', brain: 'none' }] }),
      ['unknown_brain'],
    ],
    [JSON.stringify({ ...first, session: {}, routes: [] }), ['too_few', 'session_without_storage']],
  ] as const) {
    const told = await service.put(text);
    await assertRefused(service, told, 422, 'config_invalid');
    const found = told.body.problems!.map(({ code }) => code);
    for (const code of codes) assert.ok(found.includes(code), `${code}: ${found.join()}`);
  }
  const [channel] = first.channels;
  const told = await service.put({ ...first, channels: [{ ...channel, ...missing }] });
  await assertRefused(service, told, 422, 'secret_missing');
  assert.deepEqual(
    told.body.problems!.map(({ code, path }) => [code, path]),
    [['secret_missing', 'channels[0].token_env']],
  );
  assert.match(told.body.detail!, /NOT_SET_ANYWHERE is not set/);
  const webhook = {
    ...(channel!['webhook'] as object),
    outbound_signing_env: channel!['token_env'],
  };
  const unsigned = await service.put({ ...first, channels: [{ ...channel, webhook }] });
  await assertRefused(service, unsigned, 422, 'config_invalid');
  assert.match(unsigned.body.detail!, /is no signing key: whsec_.*openssl rand -base64 32/);
  const noSkills = structuredClone(service.withOther());
  Object.assign(noSkills.brains[0]!, { agent: { tools: ['echo'], skills_dir: 'none' } });
  await assertRefused(service, await service.put(noSkills), 422, 'config_invalid');
  await assertFileStays(service);
});

test('two bots with one token are refused in the same words by a start and the API', async () => {
  const token = `4711:${'x'.repeat(40)}`;
  const env = { BOT_A: token, BOT_B: token };
  await using service = await startConfigured({}, env);
  const { first } = service;
  const bot = { type: 'messenger_a', mode: 'polling', access: { allow: ['1'] } };
  const channels = [
    ...first.channels,
    { ...bot, token_env: 'BOT_A' },
    { ...bot, name: 'support', token_env: 'BOT_B' },
  ];
  const words = 'BOT_A and BOT_B have one token, and each bot needs its own';
  const routes = [...first.routes, { channel: 'support', brain: 'echo' }];
  const told = await service.put({ ...first, channels, routes });
  await assertRefused(service, told, 422, 'config_invalid');
  assert.match(told.body.detail!, new RegExp(`channels\\[2\\]\\.token_env: ${words}\\.`));
  await writeFile(service.file, JSON.stringify({ ...first, channels, routes }));
  const more = { ...env, WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken };
  const start = await runCommand(['serve', '--config', service.file], { env: more });
  assert.equal(start.code, 78, start.err);
  assert.ok(start.err.includes(`channels[2].token_env: ${words}.`), start.err);
  const checked = await runCommand(['config', 'check', '--preflight', service.file], { env: more });
  assert.equal(checked.code, 78, checked.out);
  assert.ok(checked.out.includes(words), checked.out);
  assert.ok(![told.body.detail, start.err, checked.out].join().includes('x'.repeat(40)));
});

test('what belongs to the process needs a restart, and says which fields', async () => {
  await using service = await startConfigured({ storage: { path: 'svc.db' } });
  const { first } = service;
  const elsewhere = structuredClone(first.channels[0]!) as { webhook: Record<string, unknown> };
  elsewhere.webhook['bind'] = `:${service.port}`;
  for (const [change, fields] of [
    [{ storage: undefined }, ['storage']],
    [
      { storage: { path: 'other.db', retention_days: 3 } },
      ['storage.path', 'storage.retention_days'],
    ],
    [{ storage: { url_env: 'WEBHOOK_SECRET' } }, ['storage.path', 'storage.url_env']],
    [{ admin: { token_env: 'WEBHOOK_SECRET' } }, ['admin.token_env']],
    [{ admin: undefined }, ['admin']],
    [{ observability: { addr: '127.0.0.1:1' } }, ['observability.addr']],
    [{ observability: { enabled: false } }, ['observability.enabled']],
    [{ channels: [elsewhere] }, ['channels[0].webhook.bind']],
  ] as const) {
    const told = await service.put({ ...first, ...change });
    await assertRefused(service, told, 409, 'restart_required');
    assert.deepEqual(told.body.fields, fields);
  }
  await assertFileStays(service);
});

test('a webhook that has no route is bound nowhere, so its host may change', async () => {
  await using service = await startConfigured({}, { BOT: 'no-token-of-a-bot' });
  const { first } = service;
  const bot = { type: 'messenger_a', mode: 'polling', token_env: 'BOT', access: { allow: ['1'] } };
  const routes = [{ channel: 'messenger_a', brain: 'echo' }];
  const told = await service.put({ ...first, channels: [...first.channels, bot], routes });
  assert.equal(told.status, 200, JSON.stringify(told));
  const elsewhere = structuredClone(first.channels[0]!) as { webhook: Record<string, unknown> };
  elsewhere.webhook['bind'] = `:${service.port}`;
  const moved = await service.put({ ...first, channels: [elsewhere, bot], routes });
  assert.equal(moved.status, 200, JSON.stringify(moved));
});

test('who asks is not locked out by what they ask for', async () => {
  const allowed = { addr: '', allowed_hosts: ['svc.example'] };
  await using service = await startConfigured();
  const open = structuredClone(service.first);
  Object.assign(open['observability'] as object, { allowed_hosts: allowed.allowed_hosts });
  assert.equal((await service.put(open)).status, 200);
  const asking = { host: 'svc.example' };
  const told = await service.put(service.withOther(), asking);
  assert.equal(told.status, 409);
  assert.equal(told.body.code, 'would_lock_out');
  assert.equal((await service.ask('status', asking)).status, 200);
  assert.equal((await service.put(service.first)).status, 200, 'by another name it is allowed');
  assert.equal((await service.ask('status', asking)).status, 421);
});

test('a channel that cannot open rolls all of it back, also in the file', async () => {
  await using service = await startConfigured();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const next = structuredClone(service.withOther());
  const [channel] = next.channels as [{ webhook: Record<string, unknown> }];
  channel.webhook['bind'] = `127.0.0.1:${port}`;
  const told = await service.put(next);
  taken.close();
  await assertRefused(service, told, 409, 'rolled_back');
  assert.match(
    told.body.detail!,
    new RegExp(`127\\.0\\.0\\.1:${port}.*\\w\\. The .*stays in use\\.`, 's'),
  );
  await assertFileStays(service);
});

test('a revision that is no longer in use changes nothing, nor does none at all', async () => {
  await using service = await startConfigured();
  const told = await service.put(service.withOther(), { ifMatch: 'f00f00f00f00' });
  await assertRefused(service, told, 412, 'revision_conflict');
  assert.equal(told.body.revision, await service.revision());
  const body = JSON.stringify(service.withOther());
  const without = await service.ask('config', { method: 'PUT', body });
  await assertRefused(service, without, 428, 'if_match_required');
  await assertFileStays(service);
});

test('of two that come at once, one is applied and the other told of it', async () => {
  await using service = await startConfigured();
  const ifMatch = await service.revision();
  const both = await Promise.all(
    [1, 2].map((n) => service.put({ ...service.withOther(), _n: n }, { ifMatch })),
  );
  assert.deepEqual(
    both.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 412],
  );
  const applied = both.find(({ status }) => status === 200)!;
  assert.equal(revisionOf(await service.onDisk()), applied.body.revision);
});

test('an edit by hand is never overwritten, but may be taken as it is', async () => {
  await using service = await startConfigured();
  const [used, firstText] = [await service.revision(), await service.onDisk()];
  const edit = JSON.stringify({ ...service.withOther(), _by: 'hand' });
  await writeFile(service.file, edit);
  const told = await service.put(service.withOther());
  await assertRefused(service, told, 409, 'file_changed');
  assert.equal(told.body.revision, revisionOf(edit));
  assert.equal(await service.onDisk(), edit);
  const taken = await service.put(edit);
  assert.equal(taken.status, 200, JSON.stringify(taken));
  assert.equal(await service.say('now'), 'of second');
  const [now, before, ...more] = (await service.ask('config/history')).body.rows!;
  assert.deepEqual([now!.revision, before!.revision, more], [taken.etag, used, []]);
  assert.equal(now!.savedAt, Math.floor((await stat(service.file)).mtimeMs));
  assert.equal((await service.ask(`config/history/${used}`)).body.text, firstText);
  await rm(service.file);
  const gone = await service.put(service.first);
  assert.equal(gone.status, 409);
  assert.equal(gone.body.code, 'file_changed');
});

test('where nothing can be saved, nothing changes', async () => {
  await using service = await startConfigured();
  await writeFile(`${service.file}.history`, 'in the way');
  const told = await service.put(service.withOther());
  assert.equal(told.status, 503, JSON.stringify(told));
  assert.equal(told.body.code, 'not_saved');
  assert.match(told.body.detail!, /svc\.json\.history is no folder \(\w+\)\. Move it away/);
  for (const path of ['config/history', 'config/history/f00f00f00f00']) {
    const { status, body } = await service.ask(path);
    assert.deepEqual([status, body.code], [503, 'history_unreadable']);
    assert.match(body.detail!, /svc\.json\.history is no folder \(\w+\)\. Move it away/);
  }
  assert.equal(await service.say('hello'), 'of first');
  await assertFileStays(service);
});

test('the value of a secret that a new configuration names is masked in the log', async () => {
  const value = 'the-value-of-a-later-secret';
  await using service = await startConfigured({}, { LATER: value });
  const next = structuredClone(service.first);
  Object.assign(next.channels[0]!, { token_env: 'LATER' });
  assert.equal((await service.put(next)).status, 200);
  const odd = `config/history/${value}/restore`;
  const ifMatch = await service.revision();
  assert.equal((await service.ask(odd, { method: 'POST', ifMatch })).status, 404);
  await service.program.saw('config_restore');
  assert.ok(!service.program.log().includes(value));
});
