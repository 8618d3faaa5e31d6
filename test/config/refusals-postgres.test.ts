/** A configuration that one of several instances cannot use: no instance takes it into use. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Applied } from '../../src/config/config-control.ts';
import { House, marked, sharedDocument, webhookAt, type Instance } from './stage-postgres.ts';
import { noPostgres } from '../fake/postgres.ts';
import { freePort, scratch } from '../support/program.ts';
import { until } from '../support/waiting.ts';

type Refused = Extract<Applied, { kind: 'refused' }>;
type ByInstance = Extract<Refused, { code: 'config_refused_by_instance' }>;

function refusedBy(told: Applied): ByInstance {
  assert.ok(told.kind === 'refused', JSON.stringify(told));
  assert.ok(told.code === 'config_refused_by_instance', JSON.stringify(told));
  return told;
}

function refused(told: Applied, code: Refused['code']): Refused & { fields?: readonly string[] } {
  assert.ok(told.kind === 'refused' && told.code === code, JSON.stringify(told));
  return told;
}

/** Asserts that nothing has changed, and that nothing opened for it is still open. */
async function assertUnchanged(revision: string, ...all: Instance[]): Promise<void> {
  for (const one of all) {
    assert.equal(one.revision, revision);
    await until('nothing is held open', () => one.listening === 1);
    const rows = await one.control.history();
    assert.equal('length' in rows && rows.length, 1);
  }
}

const named = (token: string): object =>
  sharedDocument({ channels: [{ ...webhookAt('127.0.0.1:0'), token_env: token }] });
const value = 'the-value-of-a-later-secret';

suite('one configuration, refused', { skip: noPostgres }, () => {
  test('a secret that one lacks: its name, and why, and nothing is used anywhere', async () => {
    await using house = await House.open();
    const a = await house.start('web-1', { env: { LATER: value } });
    const b = await house.start('web-2');
    const c = await house.start('web-3', { env: { LATER: value } });
    const first = a.revision;
    const told = refusedBy(await a.put(named('LATER')));
    const [one, ...more] = told.refusals;
    assert.deepEqual(more, []);
    assert.deepEqual(
      [one?.instance, one?.host, one?.version, one?.reason],
      [b.id, 'web-2', '1.2.3', 'secret_missing'],
    );
    const field = 'channels\\[0\\]\\.token_env';
    const who = `Instance ${b.id} \\(web-2, svc 1\\.2\\.3\\) said no: ${field}: LATER`;
    assert.match(
      told.detail,
      new RegExp(`^${who} is not set .* The configuration before stays`, 's'),
    );
    assert.equal(told.detail.match(/stays in use/g)?.length, 1);
    assert.match(b.said, /"config_said_no"/);
    await assertUnchanged(first, a, b, c);
    const here = refused(await b.put(named('LATER')), 'secret_missing');
    assert.match(here.detail, new RegExp(`^Instance ${b.id} \\(.*, svc 1\\.2\\.3\\) said no: `));
    for (const { said } of [a, b, c]) assert.ok(!said.includes(value));
    const { rows } = await house.instances.client.query('SELECT * FROM svc.proposal, svc.vote');
    assert.ok(!JSON.stringify(rows).includes(value));
  });

  test('an address that one cannot have', async () => {
    await using house = await House.open();
    const [a, b] = [await house.start('web-1'), await house.start('web-2')];
    const first = a.revision;
    // Both are on this machine: the second one finds it taken.
    const bind = `127.0.0.1:${await freePort()}`;
    const told = refusedBy(await a.put(sharedDocument({ channels: [webhookAt(bind)] })));
    assert.deepEqual([told.refusals[0]?.instance, told.refusals[0]?.reason], [b.id, 'rolled_back']);
    assert.match(told.detail, new RegExp(`web-2.*${bind} \\(EADDRINUSE\\)`));
    await assertUnchanged(first, a, b);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const channels = [webhookAt(`127.0.0.1:${port}`)];
    refused(await a.put(sharedDocument({ channels })), 'rolled_back');
    taken.close();
    await assertUnchanged(first, a, b);
    assert.equal((await b.put(marked('after'))).kind, 'applied');
  });

  test('one that says nothing is named, and counts as no', async () => {
    await using house = await House.open();
    const a = await house.start('web-1', { silentMs: 1_000 });
    const silent = await house.instances.join('web-9');
    await silent.configs.uses((await silent.configs.current()).n);
    const first = a.revision;
    const told = refusedBy(await a.put(marked('next')));
    assert.deepEqual(
      told.refusals.map(({ instance, reason }) => [instance, reason]),
      [[silent.id, 'silent']],
    );
    assert.match(
      told.detail,
      new RegExp(`^Instance ${silent.id} \\(web-9, svc 1\\.2\\.3\\) said nothing`),
    );
    await assertUnchanged(first, a);
    await house.instances.bury(silent);
    assert.equal((await a.put(marked('next'))).kind, 'applied', 'a dead one is not asked');
  });

  test('a folder that lies elsewhere comes from the file of each machine', async () => {
    await using house = await House.open();
    await using elsewhere = await scratch();
    const [a, b] = [await house.start('web-1'), await house.start('web-2')];
    const first = a.revision;
    const [brain] = sharedDocument().brains;
    const withAgent = (agent: object): object => sharedDocument({ brains: [{ ...brain, agent }] });
    const reading = withAgent({ tools: ['read_file'], read_file: { root: elsewhere.path } });
    const field = 'brains[0].agent.read_file.root';
    const here = refused(await a.put(reading), 'restart_required');
    assert.deepEqual(here.fields, [field]);
    await a.write(reading);
    const told = refusedBy(await a.put(reading));
    assert.deepEqual(
      [told.refusals[0]?.instance, told.refusals[0]?.reason],
      [b.id, 'restart_required'],
    );
    assert.match(told.detail, /by hand only, on each machine\. Write it into .*svc\.json too/);
    await assertUnchanged(first, a, b);
    await b.write(reading);
    assert.equal((await b.put(reading)).kind, 'applied');
    // Each machine has its own files beside the configuration file.
    for (const one of [a, b]) await mkdir(join(one.folder, 'skills'));
    const skilled = withAgent({ tools: ['echo'], skills_dir: 'skills' });
    assert.equal((await a.put(skilled)).kind, 'applied');
    // A folder that the file no longer opens stays closed, although it was in use before.
    await b.write(sharedDocument());
    refusedBy(await a.put(reading));
  });

  test('where the database is comes from each file, and the rest from what all have', async () => {
    await using house = await House.open();
    const own = sharedDocument({ storage: { url_env: 'DATABASE_URL', retention_days: 7 } });
    const a = await house.start('web-1');
    const b = await house.start('web-2', { document: own });
    assert.equal(b.revision, a.revision);
    const warning = b.control.used.warnings.find(({ code }) => code === 'config_elsewhere');
    assert.match(warning!.message, new RegExp(`revision ${a.revision} of the database`));
    const days = refused(
      await a.put(sharedDocument({ storage: { url_env: 'DATABASE_URL', retention_days: 3 } })),
      'restart_required',
    );
    assert.deepEqual(days.fields, ['storage.retention_days']);
    assert.match(days.detail, /from the file of its own machine/);
    const admin = refused(await a.put(sharedDocument({ observability: {} })), 'restart_required');
    assert.match(admin.detail, /Stop every svc on the database, run svc config use/);
    // Its own file may differ from the shared configuration, which it runs.
    const asOwn = { ...own, _mark: 'of b' };
    assert.equal((await b.put(asOwn)).kind, 'applied');
    assert.equal(b.control.used.config.storage?.retentionDays, 7);
    await until('the other has it', () => a.revision === b.revision);
    assert.equal(a.control.used.config.storage?.retentionDays, 30);
  });
});
