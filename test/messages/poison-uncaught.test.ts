/** A program that dies of an exception notes the messages in work; the next start uses the note. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, publicly, scratch, serve, writeConfig } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

const fault = pathToFileURL(join(root, 'test', 'fixtures', 'uncaught.mjs')).href;
const texts = ['one', 'two', 'three'];

test('only messages that were at work count as tried; all are answered in the end', async () => {
  await using folder = await scratch();
  await using receiver = await startReceiver();
  const held = Promise.withResolvers<void>();
  await using model = await startFakeOllama((call) => ({
    answer: `re: ${lastOf(call).content}`,
    after: held.promise,
  }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = { ...publicly(where), storage: { path: 'svc.db' } };
  const file = await writeConfig(folder.path, config);
  const database = join(folder.path, 'svc.db');
  const note = `${database}.crashed`;
  const ids: string[] = [];
  {
    await using program = await serve(file, port, { NODE_OPTIONS: `--import=${fault}` });
    for (const text of texts) {
      const answer = await post(program.url, { sender_id: text, text });
      ids.push(String(answer.body['message_id']));
    }
    for (let n = 0; n < texts.length; n++) await model.call(n);
    program.child.kill('SIGUSR2');
    assert.equal(await program.ended, 1);
    assert.match(program.log(), /Error: a fault of a test\n +at /);
  }
  const [noted, end] = readFileSync(note, 'utf8').split('\n');
  assert.equal(end, 'end');
  const { lastSeq, atWork } = JSON.parse(noted!) as { lastSeq: number; atWork: string[] };
  assert.deepEqual(atWork.toSorted(), ids.toSorted());
  // Simulates that two of them had still waited.
  writeFileSync(note, `${JSON.stringify({ lastSeq, atWork: [ids[1]] })}\nend\n`);

  await using program = await serveHere(file, port);
  assert.ok(!existsSync(note), 'the start that reads it deletes it');
  using db = new DatabaseSync(database, { readOnly: true });
  const tries = new Map(
    db
      .prepare('SELECT id, attempts FROM inbox')
      .all()
      .map((row) => [row['id'], row['attempts']]),
  );
  assert.deepEqual(
    ids.map((id) => tries.get(id)),
    [0, 1, 0],
  );
  held.resolve();
  const answered = (): Map<unknown, unknown> =>
    new Map(receiver.received.map(({ body }) => [body['in_reply_to'], body['text']]));
  for (let n = 1; answered().size < ids.length; n++) await receiver.waitFor(n);
  assert.deepEqual(
    ids.map((id) => answered().get(id)),
    texts.map((text) => `re: ${text}`),
  );
  assert.equal((await post(program.url, { sender_id: 'new', text: 'goes on' })).status, 200);
});
