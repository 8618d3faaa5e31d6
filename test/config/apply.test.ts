/** New configurations come into use while the service runs. */
import assert from 'node:assert/strict';
import { chmod, chown, lstat, mkdir, readdir, rename, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { revisionOf } from '../../src/config/inspect.ts';
import { startConfigured } from './program.ts';
import { freePort, post, secret } from '../support/program.ts';
import { until } from '../support/waiting.ts';

test('a configuration that is put is in use, in its file, and told in words', async () => {
  await using service = await startConfigured();
  const before = await service.ask('config');
  assert.equal(before.status, 200);
  assert.equal(before.body.text, await service.onDisk());
  assert.equal(before.etag, revisionOf(before.body.text));
  assert.equal(await service.say('one'), 'of first');
  await chmod(service.file, 0o640);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(service.file, 4_711, 4_712);
  const text = `${JSON.stringify(service.withOther(), null, 4)}\n`;
  const told = await service.put(text);
  assert.equal(told.status, 200, JSON.stringify(told));
  assert.equal(told.body.revision, revisionOf(text));
  assert.equal(told.etag, told.body.revision);
  assert.equal(told.body.changes?.length, 1);
  assert.match(
    told.body.changes[0]!,
    /^Brain echo, model llama3\.2 \(Ollama\): base_url http\S* → http\S*\.$/,
  );
  assert.equal(await service.say('two'), 'of second');
  assert.equal(await service.onDisk(), text);
  const facts = await stat(service.file);
  assert.equal(facts.mode & 0o777, 0o640, 'it keeps its mode');
  if (isRoot) assert.deepEqual([facts.uid, facts.gid], [4_711, 4_712], 'and its owner');
  const now = await service.ask('config');
  assert.equal(now.body.text, text);
  assert.ok(now.body.usedAt! > before.body.usedAt!);
  const status = (await service.ask('status')).body as { revision?: string };
  assert.equal(status.revision, revisionOf(text));
  const audit = (await service.ask('audit')).body.rows as readonly object[] | undefined;
  const [row] = audit as [{ action: string; target: object; status: number }];
  const target = { from: before.etag, to: revisionOf(text) };
  assert.deepEqual([row.action, row.target, row.status], ['config_apply', target, 200]);
  await service.program.saw('"action":"config_apply"');
  assert.match(service.program.log(), /"operator_wrote".*"action":"config_apply","status":200/);
  assert.deepEqual(await readdir(service.folder), ['svc.json', 'svc.json.history']);
});

test('the completions API comes, moves and goes while svc runs', async () => {
  await using service = await startConfigured();
  const [port, other] = [await freePort(), await freePort()];
  const offering = (bind: string) => {
    return { ...service.first, completions: { token_env: 'WEBHOOK_SECRET', bind } };
  };
  /** The names of the models; null: nothing answers. */
  const models = async (at: number): Promise<readonly string[] | null> => {
    const headers = { authorization: `Bearer ${secret}` };
    const answer = await fetch(`http://127.0.0.1:${at}/v1/models`, { headers }).catch(() => null);
    const body = (await answer?.json()) as { data: readonly { id: string }[] } | undefined;
    return body?.data.map(({ id }) => id) ?? null;
  };
  const came = await service.put(offering(`127.0.0.1:${port}`));
  assert.equal(came.status, 200, JSON.stringify(came));
  assert.match(came.body.changes![0]!, /^The block completions is added: token_env WEBHOOK_SECRET/);
  assert.deepEqual(await models(port), ['echo']);
  const samePort = await service.put(offering(`127.0.0.2:${port}`));
  assert.equal(samePort.body.code, 'restart_required');
  assert.deepEqual(samePort.body.fields, ['completions.bind']);
  assert.equal((await service.put(offering(`127.0.0.1:${other}`))).status, 200);
  await until('it has moved', async () => (await models(port)) === null);
  assert.deepEqual(await models(other), ['echo']);
  const gone = await service.put(service.first);
  assert.deepEqual(gone.body.changes, ['The block completions is removed.']);
  await until('it has gone', async () => (await models(other)) === null);
  assert.equal(await service.say('one'), 'of first');
});

test('addresses, routes, sessions and allowed hosts change while it runs', async () => {
  await using service = await startConfigured({ storage: { path: 'svc.db' } });
  assert.equal(await service.say('/new'), 'of first');
  const next = structuredClone(service.withOther());
  const port = await freePort();
  const [channel] = next.channels as [{ webhook: Record<string, unknown> }];
  Object.assign(channel.webhook, { bind: `127.0.0.1:${port}`, path: '/in' });
  Object.assign(next, { session: {} });
  Object.assign(next['observability'] as object, { allowed_hosts: ['svc.example'] });
  assert.equal((await service.ask('status', { host: 'svc.example' })).status, 421);
  const told = await service.put(next);
  assert.equal(told.status, 200, JSON.stringify(told));
  assert.ok(
    told.body.changes!.includes('The block session is added.'),
    told.body.changes!.join('\n'),
  );
  assert.equal((await service.ask('status', { host: 'svc.example' })).status, 200);
  const url = `http://127.0.0.1:${port}/in`;
  assert.equal((await post(url, { sender_id: 'ada', text: '/new' })).status, 200);
  const received = await service.receiver.waitFor(2);
  assert.match(String(received[1]!.body['text']), /new session/i);
  await until('the old address is let go of', async () => {
    const old = `http://127.0.0.1:${service.port}/webhook`;
    return (await post(old, { sender_id: 'ada', text: 'x' }).catch(() => null)) === null;
  });
});

test('the same text again is taken, and nothing of the file changes', async () => {
  await using service = await startConfigured();
  const { ino } = await stat(service.file);
  const told = await service.put(await service.onDisk());
  assert.equal(told.status, 200);
  assert.deepEqual(told.body.changes, []);
  assert.equal((await stat(service.file)).ino, ino);
  assert.equal(await service.say('still there'), 'of first');
});

test('a warning is told when it comes up, and not with each configuration after', async () => {
  await using service = await startConfigured();
  const [brain] = service.first.brains;
  const spare = { ...service.first, brains: [brain!, { ...brain, name: 'spare' }] };
  const lines = (): number => service.program.log().split('"brain_without_route"').length - 1;
  for (const [document, count] of [
    [spare, 1],
    [{ ...spare, _n: 1 }, 1],
    [service.withOther(), 1],
    // Another text than the first, and so another revision.
    [{ ...spare, _n: 2 }, 2],
  ] as const) {
    const told = await service.put(document);
    assert.equal(told.status, 200, JSON.stringify(told));
    assert.equal(told.body.warnings!.length, document.brains.length - 1);
    await service.program.saw(`"to":"${told.etag}"`);
    assert.equal(lines(), count);
  }
});

test('a link to the file stays one, and what it leads to is replaced', async () => {
  await using service = await startConfigured();
  const real = join(service.folder, 'real', 'of-svc.json');
  await mkdir(dirname(real));
  await rename(service.file, real);
  await symlink(join('real', basename(real)), service.file);
  const told = await service.put(service.withOther());
  assert.equal(told.status, 200, JSON.stringify(told));
  assert.ok((await lstat(service.file)).isSymbolicLink());
  assert.equal(revisionOf(await service.onDisk()), told.body.revision);
  assert.deepEqual(await readdir(dirname(real)), [basename(real), `${basename(real)}.history`]);
});

test('ten texts from before are kept, each once, and any can be taken back', async () => {
  await using service = await startConfigured();
  const first = await service.revision();
  const revisions = [first];
  for (let n = 1; n <= 12; n++) {
    const told = await service.put({ ...service.withOther(), _n: n });
    revisions.push(told.body.revision!);
  }
  const listed = async (): Promise<readonly string[]> => {
    const { rows } = (await service.ask('config/history')).body;
    assert.deepEqual(
      rows!.map(({ used }) => used),
      rows!.map((_, at) => at === 0),
    );
    return rows!.map(({ revision }) => revision);
  };
  assert.deepEqual(await listed(), revisions.slice(2).reverse());
  const folder = `${service.file}.history`;
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  for (const name of await readdir(folder)) {
    assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600, name);
  }
  const [wanted] = revisions.slice(5) as [string];
  const kept = await service.ask(`config/history/${wanted}`);
  assert.equal(revisionOf(kept.body.text!), wanted);
  const path = `config/history/${wanted}/restore`;
  const stale = await service.ask(path, { method: 'POST', ifMatch: first });
  assert.equal(stale.status, 412);
  const ifMatch = await service.revision();
  const restored = await service.ask(path, { method: 'POST', ifMatch });
  assert.equal(restored.status, 200, JSON.stringify(restored));
  assert.equal(restored.body.revision, wanted);
  assert.equal(revisionOf(await service.onDisk()), wanted);
  const others = revisions.slice(2).filter((one) => one !== wanted);
  assert.deepEqual(await listed(), [wanted, ...others.reverse()]);
  const gone = await service.ask(`config/history/${first}/restore`, { method: 'POST', ifMatch });
  assert.equal(gone.status, 404);
  assert.equal((await service.ask(`config/history/${first}`)).status, 404);
});
