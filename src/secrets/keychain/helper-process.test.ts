import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { gone } from '../../../test/support/run-svc.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { ownProgram } from '../../lib/program.ts';
import { askHelper, type HelperOptions } from './os-keychain.ts';
import type { Question } from './wire.ts';

const question: Question = { ask: 'read', names: ['A'], canPrompt: false };
const patient = { startMs: patienceMs, answerMs: patienceMs, promptMs: patienceMs };

/** A helper that runs this script. In it, `say` writes an answer, and `line` is the question. */
function helper(script: string, more: Partial<HelperOptions> = {}): HelperOptions {
  const frame = `
    import { readSync, writeSync } from 'node:fs';
    const bytes = Buffer.alloc(65_536);
    const line = bytes.toString('utf8', 0, readSync(0, bytes));
    const say = (text) => writeSync(3, text + '\\n');
    const hang = () => setInterval(() => {}, ${patienceMs});
    ${script}`;
  const program = { file: process.execPath, args: ['--input-type=module', '-e', frame] };
  const quiet = { prompting: () => {}, stop: undefined };
  return { program, env: {}, limits: patient, ...quiet, ...more };
}

/** A script that writes the helper's process id to this file. */
const noting = (file: string): string =>
  `(await import('node:fs')).writeFileSync(${JSON.stringify(file)}, String(process.pid));`;

const begun = `say('{"kind":"begun"}');`;

test('an answer comes in parts, after its signs', async () => {
  let prompts = 0;
  const script = `${begun}
    say('{"kind":"prompting"}');
    writeSync(3, '{"kind":"values","val');
    writeSync(3, 'ues":{"A":"\\u00e9"}}\\n');`;
  const answer = await askHelper(question, helper(script, { prompting: () => prompts++ }));
  assert.deepEqual(answer, { kind: 'values', values: { A: 'é' } });
  assert.equal(prompts, 1);
});

test('one that says nothing, nonsense or too much is no keychain', async () => {
  for (const script of [
    '',
    'process.exitCode = 9;',
    `say('hello'); hang();`,
    `say('{"kind":"values","values":{"A":1}}'); hang();`,
    `writeSync(3, 'x'.repeat(9_000_000)); hang();`,
  ]) {
    const answer = await askHelper(question, helper(script));
    assert.deepEqual(answer, { kind: 'fault', state: 'unavailable', reason: null }, script);
  }
  const program = { file: '/nowhere/at/all', args: [] };
  const answer = await askHelper(question, helper('', { program }));
  assert.deepEqual(answer, { kind: 'fault', state: 'unavailable', reason: null });
});

test('each stage has a limit, after which it is no answer, and the process is gone', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'pid');
  const noted = noting(file);
  const stages = [
    [`hang();`, { startMs: 1 }],
    [`${noted} ${begun} hang();`, { answerMs: 300 }],
    [`${noted} ${begun} say('{"kind":"prompting"}'); hang();`, { promptMs: 300 }],
  ] as const;
  for (const [script, limit] of stages) {
    const limits = { ...patient, ...limit };
    const answer = await askHelper(question, helper(script, { limits }));
    assert.deepEqual(answer, { kind: 'fault', state: 'no_answer', reason: null }, script);
  }
  await gone(Number(await readFile(file, 'utf8')));
});

test('a stop ends the wait and the process, also one that came before', async () => {
  const stop = new AbortController();
  const script = `${begun} say('{"kind":"prompting"}'); hang();`;
  const asking = helper(script, { stop: stop.signal, prompting: () => stop.abort() });
  assert.equal(await askHelper(question, asking), null);
  assert.equal(await askHelper(question, asking), null);
});

test('a helper that has answered and does not end is ended', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'pid');
  const script = `${noting(file)}
    say('{"kind":"done"}'); hang();`;
  assert.deepEqual(await askHelper(question, helper(script)), { kind: 'done' });
  await gone(Number(await readFile(file, 'utf8')));
});

test('the question goes by a pipe: no argument and no variable holds it', async () => {
  const set: Question = { ask: 'set', name: 'A', value: 'canary', canPrompt: false };
  const script = `
    const seen = JSON.stringify([process.argv, process.execArgv, process.env]);
    const heard = JSON.parse(line);
    say(JSON.stringify({ kind: 'values', values: { seen, heard: heard.value } }));`;
  const answer = await askHelper(set, helper(script, { env: { PATH: '/bin' } }));
  const values = answer?.kind === 'values' ? answer.values : {};
  assert.equal(values['heard'], 'canary');
  assert.match(values['seen'] ?? '', /"PATH":"\/bin"/);
  assert.doesNotMatch(values['seen'] ?? '', /canary|HOME/);
});

test('the program starts itself by this Node and its own launcher', () => {
  const { file, args } = ownProgram('internal', 'keychain');
  assert.equal(file, process.execPath);
  assert.match(args.join(' '), /--disable-sigusr1 .*bin.svc\.js internal keychain$/);
});
