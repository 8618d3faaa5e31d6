/** Commands that examine svc while its file differs from its running configuration. */
import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { adminToken, startConfigured } from './program.ts';
import { runCommand, type Outcome } from '../support/in-process.ts';
import { freePort } from '../support/program.ts';

const broken = '{"channels": [], "brains": 7';

const svc = (file: string, ...args: string[]): Promise<Outcome> => {
  const surroundings = { cwd: dirname(file), env: { ADMIN_TOKEN: adminToken } };
  return runCommand([...args, '--config', file], surroundings);
};

/** Runs on a configuration that is no longer in its file, and knows that. */
async function startRefused(settings: object, next: (first: object) => Promise<string>) {
  const service = await startConfigured(settings);
  await writeFile(service.file, await next(service.first));
  service.program.hangUp();
  await service.program.saw('"config_not_applied"');
  return service;
}

test('what reads asks the svc that runs on the text of before, and says so', async () => {
  await using service = await startRefused({}, async () => broken);
  const { file } = service;
  await service.say('hello');
  const told = await svc(file, 'status');
  assert.equal(told.code, 0, told.err);
  assert.match(told.out, /The configuration file is not in use/);
  assert.match(told.err, /^! .*svc\.json cannot be used \(1:29: .*newest text in its history\.\n$/);
  for (const words of [['messages'], ['dead-letters', 'list'], ['conversations', 'list']]) {
    const { code, err } = await svc(file, ...words);
    // Without storage no texts are kept. Saying so is an answer of the running svc as well.
    assert.ok(code === 0 || /The running svc refused/.test(err), `${words.join(' ')}: ${err}`);
    assert.match(err, /^! /);
  }
  const discard = await svc(file, 'dead-letters', 'discard', 'x');
  assert.equal(discard.code, 78, 'what writes goes by the file alone');
  assert.match(discard.err, /svc\.json is not valid/);
  await rm(file);
  const { code, err } = await svc(file, 'status');
  assert.deepEqual([code, /there is no file/.test(err)], [0, true], err);
});

test('where the file names another address, svc is found at the one of before', async () => {
  const elsewhere = { addr: `127.0.0.1:${await freePort()}` };
  await using service = await startRefused({}, async (first) =>
    JSON.stringify({ ...first, observability: elsewhere }),
  );
  const { file, adminPort } = service;
  const { code, out, err } = await svc(file, 'status');
  assert.equal(code, 0, err);
  assert.match(out, /is not in use/);
  const asked = `Nothing listens at ${elsewhere.addr}; svc is asked at 127.0.0.1:${adminPort}`;
  assert.match(err, new RegExp(asked));
  await service.program.stop();
  const gone = await svc(file, 'status');
  assert.equal(gone.code, 1);
  assert.match(gone.err, new RegExp(`No running svc answers at ${elsewhere.addr}`));
});

test('the database of before is read, also while svc is stopped', async () => {
  await using service = await startRefused({ storage: { path: 'svc.db' } }, async () => broken);
  await service.say('hello');
  await service.program.stop();
  const { code, out, err } = await svc(service.file, 'messages');
  assert.equal(code, 0, err);
  assert.match(out, / answered +reply .* 1 of 1 /);
});

test('a broken file without a history leaves the default address, no file leaves 78', async () => {
  await using service = await startConfigured();
  const { file } = service;
  await writeFile(file, broken);
  const told = await svc(file, 'conversations', 'list');
  assert.equal(told.code, 1);
  assert.match(told.err, /^! .* svc is asked at 127\.0\.0\.1:2112, its address by default\.\n/);
  assert.match(told.err, /Without a configuration .*: mend .*svc\.json, which names it\.\n$/);
  await rm(file);
  const missing = await svc(file, 'status');
  assert.equal(missing.code, 78);
  assert.match(missing.err, /there is no file/);
  assert.deepEqual(await readdir(dirname(file)), []);
});
