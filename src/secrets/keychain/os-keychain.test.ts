import assert from 'node:assert/strict';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { helperLimits, OsKeychain, type KeychainSurroundings } from './os-keychain.ts';
import { SecretIndex } from './secret-index.ts';

const limits = { ...helperLimits, startMs: patienceMs, answerMs: patienceMs };

/** A helper that records its question and its environment, and gives this answer. */
function noting(file: string, answer: object) {
  const script = `
    import { readSync, writeFileSync, writeSync } from 'node:fs';
    const bytes = Buffer.alloc(65_536);
    const line = bytes.toString('utf8', 0, readSync(0, bytes));
    writeFileSync(${JSON.stringify(file)}, JSON.stringify([JSON.parse(line), process.env]));
    writeSync(3, ${JSON.stringify(`${JSON.stringify(answer)}\n`)});`;
  return { file: process.execPath, args: ['--input-type=module', '-e', script] };
}

/**
 * A keychain in a folder of its own. `noted` returns the helper's record once the helper has run.
 */
async function stage(answer: object, more: Record<string, string> = {}) {
  const home = await scratch();
  const own = { HOME: home.path, APPDATA: home.path, SSH_CONNECTION: 'from elsewhere' };
  const env = { ...own, PATH: process.env['PATH'] ?? '', ...more };
  const file = join(home.path, 'noted');
  const surroundings: KeychainSurroundings = {
    env,
    atTerminal: false,
    limits,
    program: noting(file, answer),
  };
  return {
    keychain: new OsKeychain(surroundings),
    index: new SecretIndex(env),
    noted: async (): Promise<unknown> => JSON.parse(await readFile(file, 'utf8')),
    isAsked: async () => (await stat(file).catch(() => null)) !== null,
    [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
  };
}

test('with an empty index no name is asked for, and no helper is started', async () => {
  await using at = await stage({ kind: 'values', values: { A: 'x' } });
  assert.deepEqual(await at.keychain.read(['A', 'B']), { kind: 'read', values: new Map() });
  assert.deepEqual(await at.keychain.holds(['A']), { kind: 'held', names: new Set() });
  assert.equal(await at.isAsked(), false);
  await at.index.add('A', 1);
  await at.keychain.read(['A', 'B', 'A']);
  const [question] = (await at.noted()) as [unknown];
  assert.deepEqual(question, { ask: 'read', names: ['A'], canPrompt: false });
});

test('a broken index asks for nothing, and nothing is stored beside it', async () => {
  await using at = await stage({ kind: 'done' });
  await mkdir(dirname(at.index.file), { recursive: true });
  await writeFile(at.index.file, '{');
  const { keychain } = at;
  for (const answer of [
    await keychain.stored(),
    await keychain.read(['A']),
    await keychain.holds(['A']),
    await keychain.set('A', 'x'),
    await keychain.delete('A'),
  ]) {
    assert.equal(answer.kind === 'fault' && answer.state, 'unavailable');
  }
  assert.equal(await at.isAsked(), false);
});

test('the helper gets the variables of the session, and nobody’s secrets', async () => {
  const session = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere', LANG: 'C' };
  await using at = await stage({ kind: 'done' }, { ...session, WEBHOOK_SECRET: 'canary' });
  assert.deepEqual(await at.keychain.set('A', 'x'), { kind: 'done' });
  const [question, env] = (await at.noted()) as [unknown, Record<string, string>];
  assert.deepEqual(question, { ask: 'set', name: 'A', value: 'x', canPrompt: false });
  assert.equal(env['DBUS_SESSION_BUS_ADDRESS'], 'unix:path=/nowhere');
  assert.doesNotMatch(JSON.stringify(env), /canary/);
});

test('a prompt may open where there are windows', async () => {
  await using at = await stage(
    { kind: 'absent' },
    {
      WAYLAND_DISPLAY: 'wayland-0',
      SSH_CONNECTION: '',
    },
  );
  assert.deepEqual(await at.keychain.delete('A'), { kind: 'absent' });
  const [question] = (await at.noted()) as [unknown];
  assert.deepEqual(question, { ask: 'delete', name: 'A', canPrompt: true });
});

test('what the store has lost is taken off the index, too', async () => {
  await using at = await stage({ kind: 'absent' });
  await at.index.add('A', 1);
  assert.deepEqual(await at.keychain.delete('A'), { kind: 'done' });
  assert.deepEqual(await at.keychain.stored(), { kind: 'stored', secrets: [] });
});

test('an answer to another question is none', async () => {
  await using at = await stage({ kind: 'values', values: { A: 'x' } });
  const done = await at.keychain.set('A', 'x');
  assert.equal(done.kind === 'fault' && done.state, 'unavailable');
  assert.deepEqual(await at.keychain.stored(), { kind: 'stored', secrets: [] });
});
