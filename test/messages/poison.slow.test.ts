/** A message that kills the program at every start. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sentences } from '../../src/pipeline/sentences.ts';
import { lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, publicly, scratch, serve, writeConfig } from '../support/program.ts';

const poison = 'the poison';
const bystanders = ['one', 'two', 'three'];

test('is a dead letter after four deaths, its sender told, everybody else answered', async () => {
  await using folder = await scratch();
  await using receiver = await startReceiver();
  const never = new Promise<void>(() => {});
  let deaths = 0;
  await using model = await startFakeOllama((call) => {
    const question = lastOf(call).content;
    // In the first two lives everybody is in work at the crash; then only one kills.
    if (question === poison || deaths < 2) return { answer: 'never', after: never };
    return { answer: `re: ${question}` };
  });
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = { ...publicly(where), storage: { path: 'svc.db' } };
  const file = await writeConfig(folder.path, config);

  const ids = new Map<string, unknown>();
  for (; deaths < 4; deaths++) {
    const before = model.calls.length;
    await using program = await serve(file, port);
    if (deaths === 0) {
      for (const text of [...bystanders, poison]) {
        const answer = await post(program.url, { sender_id: text, text });
        ids.set(text, answer.body['message_id']);
      }
    }
    const atWork = (): boolean =>
      model.calls.slice(before).some((c) => lastOf(c).content === poison);
    const all = (): boolean => deaths >= 2 || model.calls.length - before === ids.size;
    for (let n = before; !(atWork() && all()); n++) await model.call(n);
    program.child.kill('SIGKILL');
    await program.ended;
  }
  const asked = model.calls.filter((call) => lastOf(call).content === poison).length;
  assert.equal(asked, 4);

  await using program = await serveHere(file, port);
  const answered = (): Map<unknown, unknown> =>
    new Map(receiver.received.map(({ body }) => [body['in_reply_to'], body['text']]));
  for (let n = 1; answered().size < ids.size; n++) await receiver.waitFor(n);
  for (const text of bystanders) assert.equal(answered().get(ids.get(text)), `re: ${text}`);
  assert.equal(answered().get(ids.get(poison)), sentences.fault);
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  assert.match(metrics, /^svc_dead_letters_kept 1$/m);
  assert.match(metrics, /^svc_suspects 0$/m);
  assert.equal((await post(program.url, { sender_id: 'new', text: 'goes on' })).status, 200);
  for (let n = 1; answered().size <= ids.size; n++) await receiver.waitFor(n);
  await post(program.url, { sender_id: poison, text: 'and now' });
  for (let n = 1; answered().size <= ids.size + 1; n++) await receiver.waitFor(n);
  assert.equal(lastOf(model.calls.at(-1)!).content, 'and now', 'it is no part of the history');
  assert.equal(model.calls.filter((call) => lastOf(call).content === poison).length, asked);
  const log = program.log().split('\n');
  assert.equal(log.filter((line) => /dead_letter/.test(line) && /poison/.test(line)).length, 1);
});
