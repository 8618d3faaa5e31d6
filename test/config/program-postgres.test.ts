/**
 * The program on a database server, which has the current configuration; the file has the first.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { adminToken, startConfigured } from './program.ts';
import { closedPort } from '../fake/closed-port.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { secret } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const storage = { url_env: 'DATABASE_URL' };

/** A service on a new database, and commands beside it. */
async function start(env: Record<string, string> = {}) {
  const DATABASE_URL = await newDatabase();
  const service = await startConfigured({ storage }, { DATABASE_URL, ...env });
  const variables = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken, DATABASE_URL };
  return {
    service,
    variables,
    run: (line: string, more: Record<string, string> = {}) =>
      runCommand(line.split(' '), { cwd: service.folder, env: { ...variables, ...more } }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

type Service = Awaited<ReturnType<typeof startConfigured>>;

function withToken({ first }: Service, name: string): object {
  return { ...first, channels: [{ ...first.channels[0], token_env: name }] };
}

suite('the configuration on a database server', { skip: noPostgres }, () => {
  test('what is applied is in the database alone, and the next start takes it', async () => {
    await using started = await start();
    const { service } = started;
    const written = await service.onDisk();
    const text = JSON.stringify(service.withOther());
    const told = await service.put(text);
    assert.equal(told.status, 200, JSON.stringify(told));
    assert.equal(await service.say('one'), 'of second');
    const used = (await service.ask('config')).body as { place?: string; file?: null };
    assert.deepEqual([used.place, used.file], ['database', null]);
    assert.match((await service.ask('config/disk')).body.why!, /lies in the database/);
    assert.equal(await service.onDisk(), written);
    assert.deepEqual(await readdir(service.folder), ['svc.json']);

    await service.restart();
    assert.equal(await service.revision(), told.etag);
    assert.equal(await service.say('two'), 'of second');
    const log = service.program.log();
    assert.match(log, new RegExp(`"config_elsewhere".*revision ${told.etag} of the database`));
    assert.match(log, /send svc a SIGHUP or PUT it to \/api\/v1\/config/);
    const { rows } = (await service.ask('config/history')).body;
    assert.deepEqual(
      rows!.map(({ revision, used: isUsed }) => [revision, isUsed]),
      [
        [told.etag, true],
        [revisionOf(written), false],
      ],
    );
    const path = `config/history/${revisionOf(written)}/restore`;
    const restored = await service.ask(path, { method: 'POST', ifMatch: told.etag! });
    assert.equal(restored.status, 200, JSON.stringify(restored));
    assert.equal(await service.say('three'), 'of first');
  });

  test('a signal takes the file, and a channel that cannot open rolls all of it back', async () => {
    await using started = await start();
    const { service } = started;
    const text = JSON.stringify(service.withOther());
    await writeFile(service.file, text);
    service.program.hangUp();
    await until('it is in use', async () => (await service.revision()) === revisionOf(text));
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const [channel] = service.first.channels;
    const webhook = { ...(channel!['webhook'] as object), bind: `127.0.0.1:${port}` };
    const told = await service.put({ ...service.first, channels: [{ ...channel, webhook }] });
    taken.close();
    assert.deepEqual([told.status, told.body.code], [409, 'rolled_back'], JSON.stringify(told));
    assert.equal(await service.revision(), revisionOf(text));
    assert.equal(await service.say('still'), 'of second');
    const addr = { addr: `127.0.0.1:1` };
    const moved = await service.put({ ...service.withOther(), observability: addr });
    assert.deepEqual([moved.status, moved.body.fields], [409, ['observability.addr']]);
    assert.match(moved.body.detail!, /svc config use/);
  });

  test('a start without a secret of the one in use ends with 78, and names both', async () => {
    await using started = await start({ LATER: 'a-secret-of-16-characters' });
    const { service, run } = started;
    const told = await service.put(withToken(service, 'LATER'));
    assert.equal(told.status, 200, JSON.stringify(told));
    await service.program[Symbol.asyncDispose]();
    const { code, err } = await run('serve');
    assert.equal(code, 78, err);
    assert.match(err, new RegExp(`revision ${told.etag} of the database`));
    assert.match(err, /LATER is not set; it is used at channels\[0\]\.token_env/);
  });

  test('what only the file needs, a start does without', async () => {
    await using started = await start();
    const { service, variables } = started;
    await writeFile(service.file, JSON.stringify(withToken(service, 'NOWHERE')));
    await service.program[Symbol.asyncDispose]();
    await using again = startServe(service.file, variables);
    await again.saw('"listening"');
    assert.match(again.log(), /"config_elsewhere"/);
    assert.equal(await service.say('hello'), 'of first');
    await again.stop();
    const away = `postgres://ada:pw@127.0.0.1:${closedPort}/letters`;
    const without = await started.run('serve', { DATABASE_URL: away });
    assert.equal(without.code, 1, without.err);
    assert.match(without.err, /cannot be reached/, 'a restart may mend that, no person');
  });

  test('a folder that only another machine’s file opens keeps this one from starting', async () => {
    await using started = await start();
    const { service, run } = started;
    const elsewhere = join(service.folder, '..', `${service.port}-elsewhere`);
    const agent = { tools: ['read_file'], read_file: { root: elsewhere } };
    const reading = { ...service.first, brains: [{ ...service.first.brains[0], agent }] };
    await writeFile(service.file, JSON.stringify(reading));
    service.program.hangUp();
    const revision = revisionOf(JSON.stringify(reading));
    await until('it is in use', async () => (await service.revision()) === revision);
    await service.program[Symbol.asyncDispose]();
    await writeFile(service.file, JSON.stringify(service.first));
    const { code, err } = await run('serve');
    assert.equal(code, 78, err);
    assert.match(err, /brains\[0\]\.agent\.read_file\.root/);
    assert.match(err, /comes by hand only.*svc\.json as well/s);
  });

  test('commands show what is in use and was, and replace it while svc is stopped', async () => {
    await using started = await start();
    const { service, run } = started;
    const first = await service.revision();
    const text = JSON.stringify(service.withOther());
    const told = await service.put(text);
    assert.deepEqual(await run('config show'), { code: 0, out: text, err: '' });
    assert.equal((await run(`config show ${first}`)).out, await service.onDisk());
    const unknown = await run('config show f00f00f00f00');
    assert.deepEqual([unknown.code, unknown.out], [1, '']);
    const { out } = await run('config history --json');
    const { rows } = JSON.parse(out) as { rows: { revision: string; used: boolean }[] };
    assert.deepEqual(
      rows.map(({ revision, used }) => [revision, used]),
      [
        [told.etag, true],
        [first, false],
      ],
    );
    assert.match((await run('config history')).out, new RegExp(`${told.etag}.* in use\n${first}`));
    const checked = await run('config check --preflight');
    assert.match(checked.out, new RegExp(`revision ${told.etag} of the database`));

    const third = JSON.stringify({
      ...service.first,
      observability: { enabled: false },
      admin: undefined,
    });
    await writeFile(join(service.folder, 'third.json'), third);
    const running = await run('config use third.json');
    assert.equal(running.code, 1, running.out);
    assert.match(running.err, /in use by another svc.*SIGHUP/s);
    await service.program[Symbol.asyncDispose]();
    const used = await run('config use third.json');
    assert.equal(used.code, 0, used.err);
    assert.match(used.out, /from the next start on: revision [0-9a-f]{12}\./);
    assert.match((await run('config use third.json')).out, /in use already/);
    assert.equal((await run('config show')).out, third);
    assert.match((await run('audit')).out, /config_use/);
    await using again = startServe(service.file, started.variables);
    await again.saw('"listening"');
    assert.equal(await service.say('hello'), 'of first');
    await assert.rejects(service.ask('config'), 'its admin server is off');
  });

  test('where no svc shares one, the commands say what the configuration is', async () => {
    await using service = await startConfigured();
    for (const line of ['config show', 'config history', 'config use']) {
      const { code, err } = await runCommand(line.split(' '), { cwd: service.folder, env: {} });
      assert.equal(code, 1, line);
      assert.match(err, /svc\.json itself is the configuration.*SIGHUP/s);
    }
    await mkdir(join(service.folder, 'fresh'));
    const document = JSON.parse(await readFile(service.file, 'utf8')) as object;
    await writeFile(
      join(service.folder, 'fresh', 'svc.json'),
      JSON.stringify({ ...document, storage }),
    );
    const env = { DATABASE_URL: await newDatabase() };
    for (const line of ['config show', 'config history', 'config use']) {
      const cwd = join(service.folder, 'fresh');
      const { code, err } = await runCommand(line.split(' '), { cwd, env });
      assert.equal(code, 1, line);
      assert.match(err, /No configuration is in use in the database .* yet/);
    }
  });
});
