/** Agents at the terminal: `svc chat`, and the requests of `config check --preflight` for them. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { asks, bodyOf, inTurn, toolsOf } from './stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { runCommand } from '../support/in-process.ts';
import { scratch, webhookConfig, writeConfig } from '../support/program.ts';

const grants = [
  { tool: 'calc', mode: 'allow', channels: ['webhook'] },
  { tool: 'memory_note', mode: 'allow' },
  { tool: 'time', mode: 'deny' },
];
const agent = {
  tools: ['calc', 'memory_note', 'time'],
  memory: {},
  governance: grants,
  system_prompt: 'You help in a library.',
};

test('in svc chat an agent has the tools of its channel, and keeps notes', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama(
    inTurn(
      asks('calc', { expression: '6*7' }),
      { answer: 'It is 42.' },
      asks('memory_note', { note: 'Ada likes tea.' }),
      { answer: 'I will remember.' },
      { answer: 'Tea?' },
    ),
  );
  const where = { port: 1, adminPort: 2, modelUrl: model.url, receiverUrl: 'http://127.0.0.1:9/' };
  const config = webhookConfig(where);
  Object.assign(config.brains[0]!, { agent });
  const file = await writeConfig(folder.path, { ...config, storage: { path: 'svc.db' } });
  const input = 'six times seven?\nI like tea\n/new\nhello\n';
  const words = ['chat', '--config', file, '--explain'];
  const { code, out, err } = await runCommand(words, { cwd: folder.path, input });
  assert.deepEqual([code, out], [0, 'It is 42.\nI will remember.\nTea?\n'], err);
  assert.match(err, /calc: done in \d+ ms \(allow, grant 1\)/);
  assert.match(err, /answered at step 2 after one tool call/);
  assert.deepEqual(toolsOf(model.calls[0]!), ['calc', 'memory_note']);
  const system = bodyOf(model.calls.at(-1)!).messages[0]!.content;
  assert.match(
    system,
    /\n\nYou help in a library\.\n\n\[data \S+\] notes [^\n]*\n- Ada likes tea\./,
  );
  assert.equal(existsSync(join(folder.path, 'svc.db')), false, 'nothing was written');
});

test('preflight passes over what notes of a whole brain keep an agent from', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'never' }, { models: ['first:latest'] });
  const where = { port: 1, adminPort: 2, modelUrl: model.url, receiverUrl: 'http://127.0.0.1:9/' };
  const config = webhookConfig(where);
  const [base] = config.brains[0]!['models'] as object[];
  const models = ['first', 'second:cloud'].map((model_id) => ({ ...base, model_id }));
  const noting = { tools: ['memory_note'], memory: { scope: 'brain' } };
  Object.assign(config.brains[0]!, { agent: noting, models, sensitivity: 'public' });
  Object.assign(config, { storage: {} });
  const file = await writeConfig(folder.path, config);
  const env = { WEBHOOK_SECRET: 'a-webhook-secret-of-the-tests' };
  const words = ['config', 'check', file, '--preflight'];
  const { code, out, err } = await runCommand(words, { cwd: folder.path, env });
  assert.equal(code, 0, out + err);
  assert.match(out, /local_runtime\/first at \S+ +answers and has the model/);
  assert.match(
    out,
    /local_runtime\/second:cloud at \S+ +is never contacted: notes of the whole brain "echo" stay/,
  );
  const looks = model.looks.map(({ path }) => path).toSorted();
  assert.deepEqual(looks, ['/api/ps', '/api/show', '/api/tags'], 'at the first model alone');
  assert.ok(model.looks.every(({ text }) => !text.includes('second')));
  assert.equal(model.calls.length, 0, 'no content is sent to anyone');
});
