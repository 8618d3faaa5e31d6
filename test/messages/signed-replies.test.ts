/** The receiver of the guide, unchanged, receives svc's replies. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** The guide's receiver on another port; `lines` is its output. */
async function startGuided(port: number) {
  const guide = readFileSync(join(root, 'docs/reference/webhook.md'), 'utf8');
  const [, example = ''] = /```js\n(.*?)```/s.exec(guide) ?? [];
  assert.match(example, /listen\(9000,/);
  const code = example.replace('9000', String(port));
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    cwd: root,
    env: { REPLY_SIGNING_KEY: key },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    line: async () => (await lines.next()).value,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

test('the receiver of the guide takes what svc signed, and nothing else', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  const [port, adminPort, receiverPort] = [await freePort(), await freePort(), await freePort()];
  await using receiver = await startGuided(receiverPort);
  assert.equal(await receiver.line(), 'listening');
  const receiverUrl = `http://127.0.0.1:${receiverPort}/replies`;
  const config = webhookConfig({ port, adminPort, modelUrl: model.url, receiverUrl });
  const [channel] = config.channels;
  const webhook = { ...(channel!['webhook'] as object), outbound_signing_env: 'SIGN' };
  const file = await writeConfig(folder.path, { ...config, channels: [{ ...channel, webhook }] });
  await using program = await serveHere(file, port, { SIGN: key });

  const forged = { method: 'POST', body: '{"conversation_id":"ada","text":"forged"}' };
  assert.equal((await fetch(receiverUrl, forged)).status, 401);
  assert.equal((await post(program.url, { sender_id: 'ada', text: 'hello' })).status, 200);
  assert.match((await receiver.line())!, /^ada: (?!forged)./);
});
