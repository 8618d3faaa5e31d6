/** A local runtime that hands a model on to its vendor, and private brains that must not use it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFakeOllama } from './fake/ollama.ts';
import { startReceiver } from './fake/receiver.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from './program.ts';
import { runSvc } from './run-svc.ts';

const stub = 'llama3.2:latest';
const remoteHosts = { [stub]: 'https://vendor.test' };

test('once the look has shown it, nothing private is sent to that model', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'far' }, { models: [stub], remoteHosts });
  await using receiver = await startReceiver();
  const port = await freePort();
  const adminPort = await freePort();
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const file = await writeConfig(folder.path, webhookConfig(where));
  await using program = await serve(file, port);
  await program.saw('"model_leaves_machine"');
  await post(program.url, { sender_id: 'ada', text: 'my secret' });
  const [reply] = await receiver.waitFor(1);
  assert.match(String(reply!.body['text']), /^Sorry, I have no answer/);
  assert.deepEqual(
    model.calls.map(({ text }) => text),
    [],
  );
});

test('the same at the terminal', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'far' }, { models: [stub], remoteHosts });
  const where = { port: 8090, adminPort: 2112, modelUrl: model.url, receiverUrl: 'http://a.test' };
  const file = await writeConfig(folder.path, webhookConfig(where));
  const run = runSvc(['chat', '--config', file]);
  run.child.stdin!.end('my secret\n');
  await run.ended;
  assert.deepEqual(
    model.calls.map(({ text }) => text),
    [],
    run.out() + run.err(),
  );
  assert.equal(model.looks.length, 1);
});
