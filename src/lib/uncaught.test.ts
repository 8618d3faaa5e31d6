import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

/**
 * Runs lines of code in another process.
 * @returns its exit code, and its output on stderr
 */
async function run(lines: string): Promise<{ code: number | null; err: string }> {
  const program = `import { onUncaughtException } from './supervise.ts';
    const say = (text) => process._rawDebug('said ' + text);
    ${lines}`;
  const args = ['--input-type=module', '--eval', program];
  const ran = promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  return ran.then(
    ({ stderr }) => ({ code: 0, err: stderr }),
    ({ code, stderr }) => ({ code, err: stderr }),
  );
}

const said = (err: string): readonly string[] => err.match(/(?<=^said ).*/gm) ?? [];

test('acts run before the exception ends the process, which ends as it would without', async () => {
  const throws = "setImmediate(() => { throw new Error('a fault'); }); setInterval(() => {}, 1e6);";
  const { code, err } = await run(`onUncaughtException(() => say('one'));
    onUncaughtException(() => { throw new Error('of an act'); });
    onUncaughtException(() => say('two')); ${throws}`);
  assert.deepEqual([code, said(err)], [1, ['one', 'two']]);
  assert.match(err, /Error: a fault\n +at /);
  assert.doesNotMatch(err, /of an act/);
  assert.deepEqual((await run(throws)).code, 1);
});

test('a rejection that nobody handles is an exception', async () => {
  const { code, err } = await run(`onUncaughtException(() => say('one'));
    void Promise.reject(new Error('a fault'));`);
  assert.deepEqual([code, said(err)], [1, ['one']]);
});

test('one that was taken back does not run, nor does any at another end', async () => {
  const { code, err } = await run(`const back = onUncaughtException(() => say('one'));
    onUncaughtException(() => say('two'));
    back();
    setImmediate(() => { throw new Error('a fault'); });`);
  assert.deepEqual([code, said(err)], [1, ['two']]);
  for (const end of ['process.exit(1)', "process.kill(process.pid, 'SIGTERM')"]) {
    assert.deepEqual(said((await run(`onUncaughtException(() => say('one')); ${end};`)).err), []);
  }
});
