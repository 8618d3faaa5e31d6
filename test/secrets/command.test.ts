/** `svc secrets` without a keychain: its refusals and reports never contain a value. */
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../support/in-process.ts';
import { scratch } from '../support/program.ts';
import { outcomeOf } from '../support/run-svc.ts';

const value = 'canary-that-nobody-repeats';

test('a value among the arguments is refused, and never repeated', async () => {
  for (const words of [
    ['TOKEN', value],
    [`TOKEN=${value}`],
    [value],
    ['TOKEN', `--${value}`],
    ['TOKEN', `-${value}`],
    ['TOKEN', '--config', 'x.json', value],
    ['--', 'TOKEN', value],
    ['sk-canary-that-nobody-repeats'],
  ]) {
    const { code, out, err } = await runCommand(['secrets', 'set', ...words]);
    assert.equal(code, 2, words.join(' '));
    assert.equal(out, '');
    assert.match(err, /A value is never given as an argument.*replace it where it was issued/);
    assert.doesNotMatch(err, /canary/);
  }
  for (const words of [['set'], ['where'], ['delete'], ['where', value], ['delete', value]]) {
    const { code, err } = await runCommand(['secrets', ...words]);
    assert.equal(code, 2, words.join(' '));
    assert.match(err, /Name one secret/);
    assert.doesNotMatch(err, /canary/);
  }
});

test('a value that cannot be kept is refused in a sentence that shows nothing of it', async () => {
  await using home = await scratch();
  const env = { HOME: home.path, APPDATA: home.path };
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /is empty/],
    [' \n', /is empty/],
    [`${value}\u0007`, /control characters/],
    [`${value}\u2028two`, /more than one line/],
    [Buffer.from(`${value}\u00FC`, 'latin1').toString('utf8'), /not UTF-8 text/],
    [value.repeat(50), /more than 1,280 characters/],
    [value.repeat(5_000), /more than 1,280 characters/],
  ];
  for (const [input, told] of cases) {
    const outcome = await runCommand(['secrets', 'set', 'TOKEN'], { env, input });
    assert.equal(outcome.code, 1);
    assert.match(outcome.err, told);
    assert.match(outcome.err, /Nothing was kept\./);
    assert.doesNotMatch(outcome.out + outcome.err, /canary/);
  }
  assert.deepEqual(await readdir(home.path), []);
});

const linux = { skip: process.platform !== 'linux' && 'elsewhere every user has a keychain' };

test('without a bus each command tells so, with what to do', linux, async () => {
  await using home = await scratch();
  const env = { HOME: home.path };
  const surroundings = { cwd: home.path, env };
  const set = await runCommand(['secrets', 'set', 'TOKEN'], { ...surroundings, input: value });
  assert.equal(set.code, 1);
  assert.match(set.err, /TOKEN was not kept\. There is no session bus/);
  assert.match(set.err, /NAME_FILE.*LoadCredential/);
  const deleted = await runCommand(['secrets', 'delete', 'TOKEN'], surroundings);
  assert.equal(deleted.code, 1);
  assert.match(deleted.err, /TOKEN was not deleted\. There is no session bus/);
  const list = await runCommand(['secrets', 'list', '--json'], surroundings);
  assert.deepEqual(JSON.parse(list.out), { rows: [], store: null });
  const where = await runCommand(['secrets', 'where', 'TOKEN'], surroundings);
  assert.equal(where.code, 1);
  assert.equal(where.err, 'TOKEN stands nowhere.\n');
  // The helper keeps its compiled code there; svc writes no index.
  const left = (await readdir(home.path)).filter((one) => one !== '.cache');
  assert.deepEqual(left, []);
});

test('where a file named for it cannot be read, that place is told', async () => {
  await using home = await scratch();
  const env = { HOME: home.path, TOKEN_FILE: join(home.path, 'nothing') };
  const where = await runCommand(['secrets', 'where', 'TOKEN'], { cwd: home.path, env });
  assert.equal(where.code, 1);
  assert.match(where.out, /2\. TOKEN_FILE.*cannot be read, and no later place is asked/);
});

test('a broken index is told by every command, and left as it is', async () => {
  await using home = await scratch();
  const env = { HOME: home.path, APPDATA: home.path };
  const folder = process.platform === 'darwin' ? 'Library/Application Support' : '.config';
  const file = join(home.path, process.platform === 'win32' ? '' : folder, 'svc', 'secrets.json');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, '{');
  const surroundings = { cwd: home.path, env, input: value };
  for (const words of ['set TOKEN', 'list', 'where TOKEN', 'delete TOKEN']) {
    const { err } = await runCommand(['secrets', ...words.split(' ')], surroundings);
    assert.match(err, /secrets\.json, is no list of secrets that svc has written/, words);
  }
});

test('the helper is no command for people: it is nowhere in the help', async () => {
  const help = await runCommand(['help']);
  assert.match(help.out, /svc secrets set/);
  assert.doesNotMatch(help.out, /internal/);
  const { code, err } = await outcomeOf(['internal', 'keychain']);
  assert.equal(code, 2);
  assert.match(err, /svc starts this by itself/);
  const none = await runCommand(['internal', 'nothing']);
  assert.match(none.err, /there is no command "internal"/);
});
