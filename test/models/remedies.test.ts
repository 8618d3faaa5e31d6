/** A runtime that does not run, or lacks the model: the advice to the operator, and its places. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedPort } from '../fake/closed-port.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const absent = { status: 404, body: '{"error":"model not found"}' };

for (const [what, running, remedy] of [
  ['does not run', false, 'Ollama is not running: `ollama serve`'],
  ['lacks the model', true, 'Fetch the model: `ollama pull llama3.2`'],
] as const) {
  test(`a runtime that ${what} is told at the start, at a message, and by status`, async () => {
    await using folder = await scratch();
    await using receiver = await startReceiver();
    await using runtime = await startFakeOllama(absent, { models: ['another'] });
    const modelUrl = running ? runtime.url : `http://127.0.0.1:${closedPort}`;
    const [port, adminPort] = [await freePort(), await freePort()];
    const config = webhookConfig({ port, adminPort, modelUrl, receiverUrl: receiver.url });
    const file = await writeConfig(folder.path, config);
    await using program = await serveHere(file, port);
    await program.saw('"model_not_ready"');
    await post(program.url, { sender_id: 'ada', text: 'hello' });
    await receiver.waitFor(1);
    const lineOf = (text: string, mark: string): string =>
      text.split('\n').find((line) => line.includes(mark)) ?? '';
    for (const code of ['model_not_ready', 'model_failed']) {
      assert.ok(lineOf(program.log(), `"${code}"`).includes(remedy), program.log());
    }
    const { out } = await runCommand(['status', '--config', file]);
    const line = lineOf(out, '! Ollama: ');
    assert.ok(line.includes(remedy), out);
    assert.match(line, /failing \(llama3\.2: \w+\)/);
  });
}
