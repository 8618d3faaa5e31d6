/** `./svc` in a checkout: from any folder, by any link, with the behaviour of node itself. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../support/program.ts';
import { root, runProgram } from '../support/run-svc.ts';

const file = join(root, 'svc');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
};

test('it runs from another folder, and by links to it, relative ones too', async () => {
  await using place = await scratch();
  const [folder, bin] = [join(place.path, 'a folder'), join(place.path, 'bin')];
  for (const path of [folder, bin]) mkdirSync(path);
  symlinkSync(file, join(folder, 'first'));
  symlinkSync('../a folder/first', join(bin, 'svc'));
  for (const [program, more] of [
    [file, {}],
    [join(folder, 'first'), {}],
    [join(bin, 'svc'), {}],
    ['svc', { env: { PATH: `${bin}:${process.env['PATH']}` } }],
  ] as const) {
    const run = runProgram(program, ['version'], { cwd: folder, ...more });
    assert.deepEqual(await run.ended, { code: 0, signal: null }, run.err());
    assert.equal(run.out(), `svc ${version}\n`, program);
  }
});

test('arguments and exit codes pass through it as they are', async () => {
  const wrong = runProgram(file, ['two words', '']);
  assert.equal((await wrong.ended).code, 2);
  assert.match(wrong.err(), /there is no command "two words"/);
  const missing = runProgram(file, ['config', 'check', 'no such file.json']);
  assert.equal((await missing.ended).code, 78);
});

test('the lines that it gives a person to copy are as that person typed it', async () => {
  await using place = await scratch();
  const made = (dir: string, program: string, env = {}) => {
    const args = ['--channel', 'webhook', '--provider', 'ollama', '--model', 'm', '--dir', dir];
    return runProgram(program, ['init', '--yes', ...args], { cwd: root, env });
  };
  const PATH = `${root}:${process.env['PATH']}`;
  for (const [dir, program, wanted, env] of [
    ['one', './svc', './svc serve', {}],
    ['two', 'svc', 'svc serve', { PATH }],
  ] as const) {
    const run = made(join(place.path, dir), program, { HOME: place.path, ...env });
    assert.equal((await run.ended).code, 0, run.err());
    assert.match(run.out(), new RegExp(`^ {2}${RegExp.escape(wanted)} --config `, 'm'));
  }
});

test('a signal to it is one to the program', async () => {
  await using place = await scratch();
  const run = runProgram(file, ['demo'], { env: { TMPDIR: place.path } });
  await run.until(/Ctrl-C ends it\.\n/);
  run.child.kill('SIGTERM');
  assert.deepEqual(await run.ended, { code: 0, signal: null }, run.err());
});

test('without a node there is a sentence', async () => {
  await using place = await scratch();
  for (const tool of ['dirname', 'readlink', 'sh']) {
    const [found] = ['/usr/bin', '/bin'].map((folder) => join(folder, tool));
    symlinkSync(found!, join(place.path, tool));
  }
  const run = runProgram(file, ['version'], { env: { PATH: place.path } });
  assert.equal((await run.ended).code, 78);
  assert.equal(run.err(), 'svc needs Node 20.19 or newer, and there is no node on the PATH.\n');
});

test('on Windows svc.cmd does the same', () => {
  const lines = readFileSync(join(root, 'svc.cmd'), 'utf8').split('\r\n');
  const [run, named] = [String.raw`node "%~dp0bin\svc.js" %*`, 'set "SVC_COMMAND=%~0"'];
  assert.deepEqual(lines, ['@echo off', 'setlocal', named, run, '']);
});
