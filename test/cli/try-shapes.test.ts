/** The service and the check ignore any `_try`; and the requirements and output of svc try. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const deep = '['.repeat(20_000) + ']'.repeat(20_000);
const shapes = ['7', 'true', '"odd"', '{}', '[7, null, {}]', deep, '[{"text": 1, "text": {}}]'];

test('no _try stops the service, or its check; svc try names what it cannot read', async () => {
  await using folder = await scratch();
  await using model = await startFakeOllama();
  const port = await freePort();
  const modelUrl = model.url;
  const where = { port, adminPort: await freePort(), modelUrl, receiverUrl: 'http://127.0.0.1:9/' };
  const file = await writeConfig(folder.path, webhookConfig(where));
  const start = readFileSync(file, 'utf8');
  for (const shape of shapes) {
    writeFileSync(file, start.replace('"name": "echo"', `"_try": ${shape}, "name": "echo"`));
    const about = shape.slice(0, 40);
    const check = await runCommand(['config', 'check', file]);
    assert.equal(check.code, 0, `${about}: ${check.err}`);
    {
      await using service = await serveHere(file, port);
      assert.equal(await service.stop(), 0, about);
    }
    const tried = await runCommand(['try', file]);
    assert.equal(tried.code, 78, `${about}: ${tried.err}`);
    assert.match(tried.err, /✗ .+svc\.json:\d+:\d+ brains\[0\]\._try/, about);
  }
  assert.equal(model.calls.length, 0);
});

test('a judge of another brain needs its key, which nobody is shown', async () => {
  await using folder = await scratch();
  const key = 'sk-a-key-of-the-tests';
  await using model = await startFakeOllama({ answer: `It is ${key}.` });
  await using far = await startFakeOpenai((call) => {
    return { answer: lastOf(call).content.includes(key) ? 'Yes.' : 'No.' };
  });
  const adminPort = await freePort();
  const where = { port: 1, adminPort, modelUrl: model.url, receiverUrl: 'http://127.0.0.1:9/' };
  const config = webhookConfig(where);
  const judge = {
    provider: 'openai',
    model_id: 'far',
    locality: 'cloud',
    base_url: far.url,
    api_key_env: 'FAR_KEY',
  };
  const policy = { kind: 'priority' };
  const asks = 'Is a key told?';
  const expect = { text: 'nothing', judge: { model: 'openai/far', asks } };
  const other = { name: 'other', sensitivity: 'public', policy, models: [judge] };
  const cases = [
    { text: 'a', expect: { judge: expect.judge } },
    { text: 'b', expect },
  ];
  Object.assign(config.brains[0]!, { sensitivity: 'public', _try: cases });
  config.brains.push(other);
  const file = await writeConfig(folder.path, config);
  const unset = await runCommand(['try', file]);
  assert.equal(unset.code, 78);
  assert.match(unset.err, /FAR_KEY is not set; .*brains\[1\]\.models\[0\]\.api_key_env/);
  assert.equal(model.calls.length, 0);
  const words = ['try', file, '--junit', `${folder.path}/out.xml`];
  const { code, out, err } = await runCommand(words, { env: { FAR_KEY: key } });
  assert.equal(code, 1, err);
  assert.match(
    out,
    /^✓ echo: a .*\n✗ echo: b .*\n.*“nothing”, but the reply is “It is \[secret\]\.”/,
  );
  assert.equal(far.calls.length, 1, 'what fails already is not judged');
  const json = await runCommand(['try', file, '--json'], { env: { FAR_KEY: key } });
  const all = out + err + json.out + readFileSync(`${folder.path}/out.xml`, 'utf8');
  assert.doesNotMatch(all, new RegExp(key));
});
