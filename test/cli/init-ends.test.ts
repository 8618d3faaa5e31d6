/** How `svc init` ends at a terminal: at the end of the input, and with its hints. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startInit } from './init-stage.ts';

suite('the end of the input', () => {
  test('leaves, and nothing is written', async () => {
    await using runtime = await startFakeOllama({ answer: 'Hello.' }, { models: ['m:1b'] });
    await using init = await startInit({ ollama: runtime.url });
    await init.sees(/The model that answers[^]*1 {2}m:1b[^]*\[1\] > /);
    init.type('\x04');
    assert.equal(await init.ended, 1);
    assert.match(init.seen(), /Nothing was written, and nothing was changed\./);
    assert.equal(init.file(), null);
  });

  test('ends a service that runs, as Ctrl-C does', async () => {
    await using runtime = await startFakeOllama({ answer: 'Hello.' }, { models: ['m:1b'] });
    await using init = await startInit({
      ollama: runtime.url,
      env: { WEBHOOK_SECRET: 'a-secret-of-the-test' },
    });
    await init.answer(/The model that answers[^]*1 {2}m:1b/);
    await init.answer(/m:1b answered in/);
    await init.answer(/Where messages come from/);
    await init.answer(/Nothing was written so far/);
    await init.sees(/The answer:[^]*\[1\] > /);
    init.type('\x04');
    assert.equal(await init.ended, 0);
    assert.deepEqual(
      init.names().filter((name) => name.endsWith('-wal')),
      [],
    );
  });
});

test('a secret that was typed is not replaced by the line that sets it', async () => {
  await using runtime = await startFakeOllama({ answer: 'Hello.' }, { models: ['m:1b'] });
  await using init = await startInit({ ollama: runtime.url });
  await init.answer(/The model that answers[^]*1 {2}m:1b/);
  await init.answer(/m:1b answered in/);
  await init.answer(/Where messages come from/);
  await init.answer(/Where its secrets are kept/);
  await init.sees(/WEBHOOK_SECRET \(it is not shown\): /);
  init.type('a-secret-of-their-own\r');
  await init.answer(/Nothing was written so far/, '2');
  assert.equal(await init.ended, 0);
  assert.match(init.seen(), /export WEBHOOK_SECRET='…'/);
  assert.ok(!init.seen().includes('a-secret-of-their-own'));
});
