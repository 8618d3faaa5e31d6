/** Somebody edits, breaks or removes the file by hand: the API still offers a way on. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { startConfigured } from './program.ts';

const broken = '{"channels": [';
const brokenRevision = revisionOf(broken);

test('a broken edit is shown, replaced where it is named, and kept', async () => {
  await using service = await startConfigured();
  const [first, firstText] = [await service.revision(), await service.onDisk()];
  assert.deepEqual((await service.ask('config/disk')).body, {
    revision: first,
    readable: true,
    text: firstText,
    why: null,
  });
  await writeFile(service.file, broken);
  const told = await service.put(service.withOther());
  assert.equal(told.body.code, 'file_changed');
  assert.equal(told.body.revision, brokenRevision);
  assert.match(told.body.detail!, new RegExp(`\\?edited=${brokenRevision}\\.$`));
  const disk = (await service.ask('config/disk')).body;
  assert.deepEqual([disk.revision, disk.text], [brokenRevision, broken]);
  assert.equal((await service.put(service.withOther(), { edited: first })).status, 409);
  assert.equal(await service.onDisk(), broken);
  const put = await service.put(service.withOther(), { edited: brokenRevision });
  assert.equal(put.status, 200, JSON.stringify(put));
  assert.equal(revisionOf(await service.onDisk()), put.etag);
  assert.equal(await service.say('one'), 'of second');
  const { rows } = (await service.ask('config/history')).body;
  const listed = new Set(rows!.map(({ revision }) => revision));
  assert.deepEqual(listed, new Set([put.etag!, brokenRevision, first]));
  assert.equal((await service.ask(`config/history/${brokenRevision}`)).body.text, broken);
  const restore = { method: 'POST', ifMatch: put.etag! };
  const again = await service.ask(`config/history/${brokenRevision}/restore`, restore);
  assert.equal(again.body.code, 'config_invalid');
  await writeFile(service.file, broken);
  const path = `config/history/${first}/restore`;
  assert.equal((await service.ask(path, restore)).body.code, 'file_changed');
  const restored = await service.ask(`${path}?edited=${brokenRevision}`, restore);
  assert.equal(restored.status, 200, JSON.stringify(restored));
  assert.equal(await service.onDisk(), firstText);
});

test('an edit goes back into the file when what replaces it cannot run', async () => {
  await using service = await startConfigured();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  await writeFile(service.file, broken);
  const next = structuredClone(service.withOther());
  const [channel] = next.channels as [{ webhook: Record<string, unknown> }];
  channel.webhook['bind'] = `127.0.0.1:${port}`;
  const told = await service.put(next, { edited: brokenRevision });
  taken.close();
  assert.equal(told.body.code, 'rolled_back');
  assert.equal(await service.onDisk(), broken);
});

test('a file that was removed is written anew, for its owner alone', async () => {
  await using service = await startConfigured();
  await rm(service.file);
  const disk = (await service.ask('config/disk')).body;
  assert.deepEqual([disk.readable, disk.text], [false, null]);
  assert.match(disk.why!, /^there is no file .+svc\.json\.$/);
  const told = await service.put(service.withOther());
  assert.equal(told.body.code, 'file_changed');
  const put = await service.put(service.withOther(), { edited: disk.revision! });
  assert.equal(put.status, 200, JSON.stringify(put));
  assert.equal(revisionOf(await service.onDisk()), put.etag);
  assert.equal((await stat(service.file)).mode & 0o777, 0o600);
});

test('what cannot be kept is not replaced', async () => {
  await using service = await startConfigured();
  const aside = `${service.file}.aside`;
  await rename(service.file, aside);
  await writeFile(service.file, Buffer.from([0xff, 0xfe]));
  const { revision: edited, why } = (await service.ask('config/disk')).body;
  assert.match(why!, /is not UTF-8 text/);
  const told = await service.put(service.withOther(), { edited: edited! });
  assert.equal(told.body.code, 'file_changed');
  assert.match(told.body.detail!, /not UTF-8 text, .*Move it away by hand\.$/);
  await rm(service.file);
  await symlink('nowhere.json', service.file);
  const astray = await service.put(service.withOther(), { edited: edited! });
  assert.equal(astray.body.code, 'not_saved');
  await rm(service.file);
  await rename(aside, service.file);
  assert.equal((await service.put(service.withOther())).status, 200);
});
