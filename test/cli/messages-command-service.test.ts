/** The commands about messages against the real service with its ledger in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Story } from '../../src/domain/story.ts';
import { adminToken } from '../fake/admin-api.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { type Outcome, runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { outcomeOf } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';

test('without storage the running service tells a story and its dead letters', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = { ...webhookConfig(at), admin: { token_env: 'TEST_ADMIN' } };
  const file = await writeConfig(folder.path, document);
  const env = { TEST_ADMIN: adminToken };
  const svc = async (args: string): Promise<Outcome> => {
    return runCommand([...args.split(' '), '--config', file], { env });
  };
  receiver.script.push(410);
  await using program = await serveHere(file, port, env);
  const { body } = await post(program.url, { sender_id: 'ada', text: 'hello' });
  await receiver.waitFor(1);
  const id = String(body['message_id']);
  const dead = await until('an end of the reply', async () => {
    const [reply] = (JSON.parse((await svc(`trace ${id} --json`)).out) as Story).replies;
    return reply?.state === 'dead' ? reply : null;
  });
  assert.equal(dead.failure?.kind, 'gone');
  const page = await svc(`trace ${id}`);
  const words = ['trace', id, '--config', file];
  assert.deepEqual(await outcomeOf(words, { env }), page, 'as a process of its own');
  assert.match(
    page.out,
    /: answered by llama3\.2 \(Ollama\); not delivered: .*, given up( after \d tries)?\n/,
  );
  assert.match(page.out, /llama3\.2 \(Ollama\): answer \(rank 1\), \d+ tokens in, \d+ out\n/);
  const list = await svc('dead-letters list');
  assert.deepEqual([list.code, list.err], [0, '']);
  assert.match(list.out, /^1 dead letter\n\n.*\n {4}1 {2}out {2}gone +410 /);
  const letter = dead.id;
  const moved = await svc(`dead-letters replay ${letter}`);
  assert.match(moved.err, /^\S+ cannot be moved: without storage dead letters are told/);
  assert.match((await svc('conversations list')).out, /^No conversations are kept: .* no storage/);
  const deleted = await svc('conversations delete webhook ada --yes');
  assert.match(deleted.err, /No conversation with this id is known here\./);
  assert.match((await svc('trace nope')).err, /No message with this id is known here/);
});
