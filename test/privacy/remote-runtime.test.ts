/** A local runtime that forwards a model to its vendor, and private brains that must not use it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricOf } from '../chaos/outside.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, secret, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

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
  await using program = await serveHere(file, port);
  await program.saw('"model_leaves_machine"');
  await post(program.url, { sender_id: 'ada', text: 'my secret' });
  const [reply] = await receiver.waitFor(1);
  assert.match(String(reply!.body['text']), /^Sorry, I have no answer/);
  assert.deepEqual(
    model.calls.map(({ text }) => text),
    [],
  );
});

/** A service with a private brain on that model. */
async function startOn(model: FakeModel) {
  const own = new AsyncDisposableStack();
  const folder = own.use(await scratch());
  const receiver = own.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const file = await writeConfig(folder.path, config);
  const program = own.use(await serveHere(file, port));
  return {
    program,
    say: (text: string) => post(program.url, { sender_id: 'ada', text }),
    replies: async (count: number) =>
      (await receiver.waitFor(count)).map(({ body }) => String(body['text'])),
    /** A turn is with its model, which has the request or still waits for it. */
    turnIsOn: () =>
      until('a turn is on', async () => {
        const page = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
        return metricOf(await page.text(), 'svc_model_calls', 'state="in_flight"') === 1;
      }),
    /** Takes a configuration that differs in a number without effect. */
    async apply(round: number): Promise<void> {
      const brains = [{ ...config.brains[0], deadline_seconds: 100 + round }];
      await writeConfig(folder.path, { ...config, brains });
      program.hangUp();
      const used = (): number => program.log().split('"plan_used"').length - 1;
      await until('it is in use', () => used() === round + 1);
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('a turn right after the start waits for the look', async () => {
  await using model = await startFakeOllama({ answer: 'far' });
  const look = Promise.withResolvers<void>();
  const body = JSON.stringify({ models: [{ name: stub, remote_host: remoteHosts[stub] }] });
  const tags = { status: 200, body, after: look.promise };
  await model.script(tags, 'looks');
  await using service = await startOn(model);
  await service.say('my secret');
  await service.turnIsOn();
  look.resolve();
  assert.match((await service.replies(1))[0]!, /^Sorry, I have no answer/);
  assert.equal(model.calls.length, 0);
});

test('new configurations forget nothing, though the runtime does not say it again', async () => {
  await using model = await startFakeOllama({ answer: 'far' }, { models: [stub], remoteHosts });
  await using service = await startOn(model);
  await service.program.saw('"model_leaves_machine"');
  await model.script({ fail: 'hang' }, 'looks');
  for (const round of [1, 2, 3]) {
    await service.apply(round);
    await service.say(`my secret ${round}`);
    assert.match((await service.replies(round))[round - 1]!, /^Sorry, I have no answer/);
  }
  assert.equal(model.calls.length, 0);
});

test('the same at the terminal', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'far' }, { models: [stub], remoteHosts });
  const where = { port: 1, adminPort: 2, modelUrl: model.url, receiverUrl: 'http://a.test' };
  const file = await writeConfig(folder.path, webhookConfig(where));
  const { out, err } = await runCommand(['chat', '--config', file], { input: 'my secret\n' });
  assert.deepEqual(
    model.calls.map(({ text }) => text),
    [],
    out + err,
  );
  // A probe without an answer within its two seconds is followed by another.
  const looks = await Promise.all(model.looks.map(({ over }) => over));
  assert.equal(looks.filter((end) => end === 'answered').length, 1);
});

test('a model at an address that is not near is asked nothing, and that is told', async () => {
  await using folder = await scratch();
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const modelUrl = 'http://192.0.2.1:9';
  const where = { port, adminPort, modelUrl, receiverUrl: receiver.url };
  const file = await writeConfig(folder.path, webhookConfig(where));
  await using program = await serveHere(file, port);
  await program.saw('"model_far"');
  await post(program.url, { sender_id: 'ada', text: 'my secret' });
  const [reply] = await receiver.waitFor(1);
  assert.match(String(reply!.body['text']), /^Sorry, I have no answer/);
  assert.match(program.log(), /gave no answer: far_address\. Write a base_url on this machine/);
  const env = { WEBHOOK_SECRET: secret };
  const status = await runCommand(['status', '--config', file], { env });
  assert.match(status.out, /Ollama: failing \(llama3\.2: far_address\).*Write a base_url on this/);
  const check = ['config', 'check', file, '--preflight'];
  const { code, out } = await runCommand(check, { env });
  assert.equal(code, 1);
  assert.match(out, /192\.0\.2\.1:9: its address is not on this machine/);
});
