/** The data that a trial does not disclose, and the limits of its answer. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { asks, inTurn } from '../agents/stage.ts';
import { hostedModel, key, localModel, resultOf, start, token, unused } from './trials-program.ts';

test('no answer of a trial holds a secret of the draft, or of what is in use', async () => {
  await using started = await start();
  // The draft names the key of the hosted model; only the current configuration names the token.
  const agent = { tools: ['calc', 'echo'] };
  const models = [localModel(started), hostedModel(started)];
  const draft = { ...started.draft({ sensitivity: 'public', models, agent }), admin: null };
  await started.local.script(
    inTurn(asks('calc', { expression: `1+${key}` }), asks('echo', { text: `${key} ${token}` }), {
      answer: `It is ${token}, and ${key}.`,
    }),
  );
  const { tools, answers } = resultOf(await started.tryIt(draft));
  assert.equal(tools[0]!.arguments, '{"expression":"1+[secret]"}');
  assert.deepEqual(
    [tools[1]!.arguments, tools[1]!.result],
    ['{"text":"[secret] [secret]"}', '[secret] [secret]'],
  );
  assert.equal(answers[0]!.text, 'It is [secret], and [secret].');
});

test('no line of the log holds a secret that a draft names', async () => {
  await using started = await start();
  const models = [hostedModel(started, { api_key_env: 'UNUSED_CANARY' })];
  resultOf(await started.tryIt(started.draft({ sensitivity: 'public', models })));
  // The file has a line that quotes it, as if somebody had written it there.
  await writeFile(join(started.folder, 'svc.json'), JSON.stringify({ [unused]: 1 }));
  started.program.hangUp();
  await started.program.saw('"config_not_applied"');
  assert.ok(!started.program.log().includes(unused));
  assert.match(started.program.log(), /"config_not_applied".*\[secret\]/);
});

test('of what a tool gave, and of what was said before, a trial takes so much', async () => {
  await using started = await start();
  await mkdir(join(started.folder, 'files'));
  await writeFile(join(started.folder, 'files', 'long.txt'), 'x'.repeat(5_000));
  const agent = { tools: ['read_file'], read_file: { root: 'files' } };
  await started.local.script(inTurn(asks('read_file', { path: 'long.txt' }), { answer: 'Read.' }));
  const draft = started.draft({ models: [localModel(started)], agent });
  const { tools } = resultOf(await started.tryIt(draft));
  assert.equal(tools[0]!.result!.length, 4_001);
  assert.ok(tools[0]!.result!.endsWith('…'));

  await started.local.script({ answer: 'Yes.' });
  const history = Array.from({ length: 50 }, (_, index) => {
    return { asked: `question-${index};`, answered: 'yes' };
  });
  await started.tryIt(started.draft({ models: [localModel(started)] }), { history });
  const seen = started.local.calls.at(-1)!.text;
  assert.match(seen, /question-49;/);
  assert.match(seen, /question-21;/);
  assert.doesNotMatch(seen, /question-20;/);
});
