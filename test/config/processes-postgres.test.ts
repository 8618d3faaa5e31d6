/** Two processes on one database, each with its own file: one configuration for both. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { adminToken, askAdmin, type Told } from './program.ts';
import { closedPort } from '../fake/closed-port.ts';
import { newDatabase, noPostgres } from '../fake/postgres.ts';
import { freePort, scratch, secret, startProgram, webhookConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const options = { skip: noPostgres };

const nowhere = `http://127.0.0.1:${closedPort}`;

async function stage() {
  await using parts = new AsyncDisposableStack();
  const folder = parts.use(await scratch());
  const DATABASE_URL = await newDatabase();
  const shared = {
    ...webhookConfig({ port: 8090, adminPort: 2112, modelUrl: nowhere, receiverUrl: nowhere }),
    admin: { token_env: 'ADMIN_TOKEN' },
    storage: { url_env: 'DATABASE_URL' },
  };
  const env = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken, DATABASE_URL };
  const own = parts.move();
  return {
    shared,
    /** @param document of its file */
    async start(name: string, document: object, more: Record<string, string> = {}) {
      const file = join(folder.path, name, 'svc.json');
      await mkdir(join(folder.path, name));
      await writeFile(file, JSON.stringify(document));
      const [port, adminPort] = [await freePort(), await freePort()];
      const args = ['serve', '--config', file, '--webhook-bind', `127.0.0.1:${port}`];
      const program = startProgram([...args, '--admin-addr', `127.0.0.1:${adminPort}`], {
        ...env,
        ...more,
      });
      own.use(program);
      const ask = (
        ...asked: Parameters<typeof askAdmin> extends [number, ...infer R] ? R : never
      ) => askAdmin(adminPort, ...asked);
      const revision = async (): Promise<string> => (await ask('config')).etag!;
      return {
        program,
        ask,
        revision,
        put: async (next: object): Promise<Told> => {
          const ifMatch = await revision();
          return ask('config', { method: 'PUT', body: JSON.stringify(next), ifMatch });
        },
      };
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('two that start at once with different files have one configuration', options, async () => {
  await using house = await stage();
  const both = await Promise.all(
    ['one', 'two'].map((name) => house.start(name, { ...house.shared, _of: name })),
  );
  await Promise.all(both.map(({ program }) => program.saw('"listening"')));
  const revisions = await Promise.all(both.map((one) => one.revision()));
  assert.equal(revisions[0], revisions[1]);
});

test('it is applied at one and in use at both, or refused by name', options, async () => {
  await using house = await stage();
  const { shared } = house;
  const one = await house.start('one', shared, { LATER: 'a-secret-of-16-characters' });
  await one.program.saw('"listening"');
  const two = await house.start('two', shared);
  await two.program.saw('"listening"');
  const next = { ...shared, _mark: 'next' };
  const told = await two.put(next);
  assert.equal(told.status, 200, JSON.stringify(told));
  const revision = revisionOf(JSON.stringify(next));
  await until('both have it', async () => {
    return (await one.revision()) === revision && (await two.revision()) === revision;
  });
  const [channel] = shared.channels;
  const lacking = { ...shared, channels: [{ ...channel, token_env: 'LATER' }] };
  const refused = await one.put(lacking);
  assert.deepEqual([refused.status, refused.body.code], [409, 'config_refused_by_instance']);
  assert.match(refused.body.detail!, /^Instance \d+ \(.*, svc .*\) said no: .*LATER is not set/);
  assert.deepEqual([await one.revision(), await two.revision()], [revision, revision]);

  const { rows } = (await one.ask('config/history')).body;
  assert.deepEqual((await two.ask('config/history')).body.rows, rows);
  const first = rows!.at(-1)!.revision;
  const path = `config/history/${first}/restore`;
  const restored = await two.ask(path, { method: 'POST', ifMatch: revision });
  assert.equal(restored.status, 200, JSON.stringify(restored));
  await until('both went back', async () => (await one.revision()) === first);
});

test('one that is killed meanwhile does not keep the others from a new one', options, async () => {
  await using house = await stage();
  const one = await house.start('one', house.shared);
  await one.program.saw('"listening"');
  const two = await house.start('two', house.shared);
  await two.program.saw('"listening"');
  two.program.child.kill('SIGKILL');
  await two.program.ended;
  const next = { ...house.shared, _mark: 'next' };
  // Until it counts as dead, the answer may name it as silent.
  await until('it is in use', async () => {
    const told = await one.put(next);
    if (told.status === 200) return true;
    assert.equal(told.body.code, 'config_refused_by_instance', JSON.stringify(told));
    assert.match(told.body.detail!, /said nothing/);
    return false;
  });
});
