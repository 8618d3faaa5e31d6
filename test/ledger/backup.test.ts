/** Backups that a person makes and restores, of a running service and of a stopped one. */
import assert from 'node:assert/strict';
import { copyFile, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { type Outcome, runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { outcomeOf } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';

async function stage(t: TestContext) {
  const folder = await scratch();
  const model = await startFakeOllama();
  const receiver = await startReceiver();
  t.after(async () => {
    await receiver[Symbol.asyncDispose]();
    await model[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const port = await freePort();
  const document = webhookConfig({
    port,
    adminPort: await freePort(),
    modelUrl: model.url,
    receiverUrl: receiver.url,
  });
  return { folder: folder.path, receiver, port, document };
}

async function backup(folder: string, ...args: string[]): Promise<Outcome> {
  return runCommand(['backup', ...args], { cwd: folder });
}

function idsIn(file: string): Set<string> {
  using db = new DatabaseSync(file, { readOnly: true });
  return new Set(
    db
      .prepare('SELECT id FROM inbox')
      .all()
      .map(({ id }) => String(id)),
  );
}

test('a backup of a live database has all that was acknowledged, and restores', async (t) => {
  const { folder, port, receiver, document } = await stage(t);
  const file = await writeConfig(folder, { ...document, storage: { path: 'svc.db' } });
  const acknowledged: string[] = [];
  const copy = join(folder, 'copy.db');
  {
    await using program = await serveHere(file, port);
    const over = new AbortController();
    const send = async (sender: number): Promise<void> => {
      for (let n = 0; !over.signal.aborted; n++) {
        const answer = await post(program.url, { sender_id: sender, text: `message ${n}` });
        assert.equal(answer.status, 200);
        acknowledged.push(String(answer.body['message_id']));
      }
    };
    const senders = [1, 2, 3, 4].map(send);
    await receiver.waitFor(20);
    // A reply may come before this test has read the answer to its message.
    await until('20 are acknowledged', () => acknowledged.length >= 20);
    const before = [...acknowledged];
    const made = await outcomeOf(['backup', 'copy.db'], { cwd: folder });
    over.abort();
    await Promise.all(senders);
    assert.deepEqual([made.code, made.err], [0, '']);
    const ids = idsIn(copy);
    assert.match(made.out, new RegExp(`^copy\\.db: [\\d.]+ (KiB|MiB), ${ids.size} messages\n$`));
    assert.deepEqual(
      before.filter((id) => !ids.has(id)),
      [],
    );
    assert.ok(before.length >= 20 && acknowledged.length > before.length, 'there were writes');
  }
  assert.equal((await stat(copy)).mode & 0o777, 0o600);
  await mkdir(join(folder, 'restored'));
  const restored = await writeConfig(join(folder, 'restored'), {
    ...document,
    storage: { path: 'svc.db' },
  });
  await copyFile(copy, join(folder, 'restored', 'svc.db'));
  await using program = await serveHere(restored, port);
  const answer = await post(program.url, { sender_id: 'after', text: 'still there?' });
  assert.equal(answer.status, 200);
  while (!receiver.received.some(({ body }) => body['conversation_id'] === 'after')) {
    await receiver.waitFor(receiver.received.length + 1);
  }
});

test('a backup of a stopped service is sound, and keeps the schema’s marks', async (t) => {
  const { folder, port, document } = await stage(t);
  const file = await writeConfig(folder, { ...document, storage: { path: 'svc.db' } });
  {
    await using program = await serveHere(file, port);
    await post(program.url, { sender_id: 'ada', text: 'hello' });
    assert.equal(await program.stop(), 0);
  }
  const made = await backup(folder, 'copy.db', '--config', 'svc.json');
  assert.deepEqual([made.code, made.err], [0, '']);
  assert.match(made.out, /^copy\.db: \d+ KiB, 1 message\n$/);
  const marks = (path: string): unknown[] => {
    using db = new DatabaseSync(path, { readOnly: true });
    return ['application_id', 'user_version', 'auto_vacuum'].map((name) => {
      return db.prepare(`PRAGMA ${name}`).get();
    });
  };
  assert.deepEqual(marks(join(folder, 'copy.db')), marks(join(folder, 'svc.db')));
});

test('a backup replaces nothing, and leaves nothing behind when it fails', async (t) => {
  const { folder, document } = await stage(t);
  await writeConfig(folder, { ...document, storage: { path: 'svc.db' } });
  const missing = await backup(folder, 'copy.db');
  assert.deepEqual([missing.code, missing.out], [1, '']);
  assert.match(missing.err, /^There is no database .*svc\.db yet/);
  {
    using db = new DatabaseSync(join(folder, 'svc.db'));
    db.exec('CREATE TABLE of_somebody_else (a)');
  }
  const foreign = await backup(folder, 'copy.db');
  assert.deepEqual([foreign.code, foreign.out], [1, '']);
  assert.match(foreign.err, /belongs to another program/);
  await writeFile(join(folder, 'there'), 'precious');
  await symlink('nowhere', join(folder, 'dangling'));
  await writeFile(join(folder, 'old.db-wal'), 'of another database');
  for (const name of ['there', 'dangling', 'old.db']) {
    const refused = await backup(folder, name);
    assert.deepEqual([refused.code, refused.out], [1, ''], name);
    assert.match(refused.err, /There is a file .* already; name another file for the backup\.\n$/);
  }
  assert.match((await backup(folder, 'none/copy.db')).err, /No file can be made in .*\(ENOENT\)/);
  const long = await backup(folder, 'n'.repeat(300));
  assert.deepEqual([long.code, long.out], [1, '']);
  assert.match(long.err, /^No file can be made in .*\(ENAMETOOLONG\); name another file/);
  await rm(join(folder, 'svc.db'));
  const left = ['dangling', 'old.db-wal', 'svc.json', 'there'];
  assert.deepEqual((await readdir(folder)).sort(), left);
});

test('without storage there is nothing to back up', async (t) => {
  const { folder, document } = await stage(t);
  await writeConfig(folder, document);
  assert.deepEqual(await backup(folder, 'copy.db'), {
    code: 1,
    out: '',
    err: 'svc.json has no storage block, so there is no database to back up.\n',
  });
});

test('backup is called with one file', async (t) => {
  const { folder } = await stage(t);
  for (const args of [[], ['a', 'b'], ['a', '--confg', 'x']]) {
    const { code, out, err } = await backup(folder, ...args);
    assert.deepEqual([code, out], [2, ''], args.join(' '));
    assert.match(err, /^svc backup: .*\nSee "svc help backup"\.\n$/);
  }
  const { code } = await backup(folder, 'a', '--config', 'none.json');
  assert.equal(code, 78);
});
