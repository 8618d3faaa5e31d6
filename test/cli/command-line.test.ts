/** A person's first contact: help, version, and the answer to a mistyped command. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand, type Outcome } from '../support/in-process.ts';
import { outcomeOf, root } from '../support/run-svc.ts';

const svc = (...args: string[]): Promise<Outcome> => runCommand(args);

test('version prints the version of package.json', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  for (const words of [['version'], ['--version'], ['-v']]) {
    assert.deepEqual(await svc(...words), { code: 0, out: `svc ${version}\n`, err: '' });
  }
  assert.deepEqual(await outcomeOf(['version']), await svc('version'));
});

test('help names every command, on stdout', async () => {
  const plain = await svc();
  assert.equal(plain.code, 0);
  assert.match(plain.out, /svc takes a message.*\n\n(?: {2}svc [a-z ]+ {2}\S.*\n)+/);
  for (const words of [['help'], ['--help'], ['-h'], ['help', 'help']])
    assert.deepEqual(await svc(...words), plain);
});

test('help of a command is the same however it is asked for', async () => {
  const page = await svc('help', 'version');
  assert.match(page.out, /^Usage: svc version\n/);
  assert.deepEqual(await svc('version', '--help'), page);
});

test('a mistyped command gets the nearest one, on stderr, with 2', async () => {
  const answer = await svc('verison');
  assert.equal(answer.code, 2);
  assert.equal(answer.out, '');
  assert.match(answer.err, /no command "verison".*Did you mean "svc version"\?/);
  assert.deepEqual(await outcomeOf(['verison']), answer, 'as a process of its own');
  assert.match((await svc('qqqqqqq')).err, /See "svc help"/);
  assert.match((await svc('config', 'chek')).err, /no command "config chek".*"svc config check"\?/);
  assert.match((await svc('config')).err, /which one: "svc config check", "svc config show"/);
  assert.match((await svc('--verbose')).err, /no flag "--verbose"/);
});

test('a command that leaves something open ends soon, with its own code', async () => {
  const open = 'data:text/javascript,setInterval(()=>{},1e6)';
  const { code } = await outcomeOf(['verison'], { env: { NODE_OPTIONS: `--import=${open}` } });
  assert.equal(code, 2);
});
