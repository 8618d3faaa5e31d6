/** A signal makes the service read its file again. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { metricOf } from '../chaos/outside.ts';
import { startConfigured } from './program.ts';
import { post } from '../support/program.ts';
import { oldNode, runProgram, root } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';

type Service = Awaited<ReturnType<typeof startConfigured>>;

async function warnings(service: Service): Promise<readonly { code: string; message: string }[]> {
  const { body } = await service.ask('status');
  return (body.warnings ?? []).map(({ code, message }) => ({ code, message }));
}

async function counted(service: Service, result: string): Promise<boolean> {
  const page = await fetch(`http://127.0.0.1:${service.adminPort}/metrics`);
  return (await page.text()).includes(`svc_config_reloads_total{result="${result}"} 1\n`);
}

test('a hang-up takes the edited file; the text before can be restored', async () => {
  await using service = await startConfigured();
  const first = await service.revision();
  const text = JSON.stringify(service.withOther());
  await writeFile(service.file, text);
  service.program.hangUp();
  await until('the edit is in use', async () => (await service.revision()) !== first);
  assert.equal(await service.revision(), revisionOf(text));
  assert.equal(await service.say('two'), 'of second');
  await until('it is counted', () => counted(service, 'applied'));
  const path = `config/history/${first}/restore`;
  const ifMatch = await service.revision();
  assert.equal((await service.ask(path, { method: 'POST', ifMatch })).status, 200);
  assert.equal(await service.say('three'), 'of first');
  const { models } = (await service.ask('status')).body;
  const told = models?.map(({ model, answers }) => [model, answers]);
  assert.deepEqual(told, [['local_runtime/llama3.2', 2]], 'it was in every plan');
  assert.equal(await service.program.stop(), 0);
});

test('a broken file changes nothing, and is told until one is taken', async () => {
  await using service = await startConfigured();
  await writeFile(service.file, '{"channels": [], "brains": 7');
  service.program.hangUp();
  await service.program.saw('"config_not_applied"');
  const lines = service.program.log().split('\n');
  const told = lines.filter((line) => line.includes('"config_not_applied"'));
  assert.equal(told.length, 1);
  assert.match(told[0]!, /"level":"error".*"result":"config_invalid"/);
  assert.match(told[0]!, /1:29/, 'with its place');
  assert.equal(await service.say('one'), 'of first');
  assert.match((await warnings(service))[0]!.message, /is not in use: 1:29/);
  assert.ok(await counted(service, 'config_invalid'));
  await rm(service.file);
  service.program.hangUp();
  await until('it is told that the file is gone', async () =>
    (await warnings(service))[0]!.message.includes('there is no file'),
  );
  await writeFile(service.file, JSON.stringify(service.withOther()));
  service.program.hangUp();
  await until('nothing is wrong any more', async () => (await warnings(service)).length === 0);
  assert.equal(await service.say('two'), 'of second');
});

test('one that is put ends the warning, too, and an edit has the time of its file', async () => {
  await using service = await startConfigured();
  await writeFile(service.file, '{"channels": [], "brains": 7');
  service.program.hangUp();
  await service.program.saw('"config_not_applied"');
  assert.equal((await warnings(service)).length, 1);
  const edited = (await service.ask('config/disk')).body.revision!;
  const put = await service.put(service.withOther(), { edited });
  assert.equal(put.status, 200, JSON.stringify(put));
  assert.deepEqual(await warnings(service), []);
  const text = JSON.stringify({ ...service.first, _by: 'hand' });
  await writeFile(service.file, text);
  const savedAt = Date.UTC(2020, 1, 2);
  await utimes(service.file, savedAt / 1_000, savedAt / 1_000);
  service.program.hangUp();
  const revision = revisionOf(text);
  await until('the edit is in use', async () => (await service.revision()) === revision);
  const [row] = (await service.ask('config/history')).body.rows!;
  assert.deepEqual([row!.revision, row!.savedAt], [revision, savedAt]);
  // A person goes back to a former configuration: it is in use, and no other former one.
  await writeFile(service.file, JSON.stringify(service.withOther(), null, 2));
  service.program.hangUp();
  await until('so is that', async () => (await service.revision()) === put.etag);
  await until('it is no text of before', async () => {
    const names = await readdir(`${service.file}.history`);
    return !names.some((name) => name.includes(put.etag!));
  });
});

test('what needs a restart is named, and the rest of the file waits for it', async () => {
  await using service = await startConfigured();
  const next = { ...service.withOther(), storage: { path: 'svc.db' } };
  await writeFile(service.file, JSON.stringify(next));
  service.program.hangUp();
  await service.program.saw('"config_not_applied"');
  assert.match(service.program.log(), /storage: this cannot change while svc runs/);
  assert.equal(await service.say('one'), 'of first');
});

test('calls under configurations of before count against the limit of the newest', async () => {
  await using service = await startConfigured();
  const answers = Promise.withResolvers<void>();
  await service.model.script({ answer: 'late', after: answers.promise });
  const [brain] = service.first.brains;
  const models = brain!['models'] as object[];
  const limited = (max_in_flight: number, round: number): object => {
    const own = { models: [{ ...models[0], max_in_flight }], deadline_seconds: 100 + round };
    return { ...service.first, brains: [{ ...brain, ...own }] };
  };
  const calls = async (state: string): Promise<number> => {
    const page = await fetch(`http://127.0.0.1:${service.adminPort}/metrics`);
    return metricOf(await page.text(), 'svc_model_calls', `state="${state}"`);
  };
  for (const round of [0, 1, 2]) {
    assert.equal((await service.put(limited(1, round))).status, 200);
    await post(service.program.url, { sender_id: `sender-${round}`, text: 'hello' });
    await service.model.call(0);
    await until('the rest waits', async () => (await calls('waiting')) === round);
  }
  assert.equal(service.model.calls.length, 1);
  assert.equal((await service.put(limited(2, 3))).status, 200);
  await until('a higher limit lets one more in', async () => (await calls('in_flight')) === 2);
  answers.resolve();
  await service.receiver.waitFor(3);
  assert.equal(service.model.calls.length, 3);
});
const isWindows = process.platform === 'win32';

test(
  'a pipe in the place of the file holds up nothing, the end neither',
  {
    skip: isWindows && 'Windows has no such pipes',
  },
  async () => {
    await using service = await startConfigured();
    await rm(service.file);
    execFileSync('mkfifo', [service.file]);
    service.program.hangUp();
    await service.program.saw('"config_not_applied"');
    assert.match(service.program.log(), /svc\.json is a pipe or a device, and no file/);
    const told = await service.put(service.withOther());
    assert.equal(told.body.code, 'file_changed');
    assert.equal(await service.say('one'), 'of first');
    assert.equal(await service.program.stop(), 0);
  },
);

const old = oldNode();
const skip = old === null ? 'no Node older than 24 is on the PATH of this machine' : false;

test('the launcher passes hang-ups on', { skip }, async () => {
  await using service = await startConfigured();
  const { file } = service;
  await service.program.stop();
  const run = runProgram(old ?? '', [join(root, 'bin', 'svc.js'), 'serve', '--config', file], {
    env: { WEBHOOK_SECRET: 'x'.repeat(16), ADMIN_TOKEN: 'x'.repeat(16), HOME: service.folder },
  });
  await run.until(/"listening"/, 'err');
  await writeFile(file, '{}');
  run.child.kill('SIGHUP');
  await run.until(/"config_not_applied"/, 'err');
  run.child.kill('SIGTERM');
  assert.deepEqual(await run.ended, { code: 0, signal: null });
});
