/** `svc chat` as a person uses it: at a terminal, and with a pipe in front of it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { spawn } from '@lydell/node-pty';
import { closedPort } from './fake/closed-port.ts';
import { launcher, oldNode, runSvc, type Run } from './run-svc.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-chat-'));
after(() => rmSync(folder, { recursive: true, force: true }));

type Terminal = {
  readonly pid: number;
  type(keys: string): void;
  /** Waits for text that came after what earlier calls have found. */
  sees(pattern: RegExp): Promise<void>;
  readonly ended: Promise<number>;
};

/** A pseudo-terminal with `svc chat` in it. */
function openTerminal(args: readonly string[], node = process.execPath): Terminal {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const terminal = spawn(node, [launcher, 'chat', ...args], {
    cols: 200,
    rows: 50,
    cwd: folder,
    env: { ...env, SVC_FROM_SOURCES: '1', TERM: 'xterm', NO_COLOR: '1' },
  });
  let unread = '';
  const watchers = new Set<() => void>();
  terminal.onData((text) => {
    unread += text;
    for (const watcher of watchers) watcher();
  });
  const ended = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode }) => resolve(exitCode));
  });
  const sees = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(unread);
        if (found === null) return;
        unread = unread.slice(found.index + found[0].length);
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
      void ended.then(() => reject(new Error(`ended before ${pattern}: ${unread}`)));
    });
  return { pid: terminal.pid, type: (keys) => terminal.write(keys), sees, ended };
}

test('three exchanges at a terminal: a greeting, memory, and a new conversation', async () => {
  const terminal = openTerminal(['--demo']);
  await terminal.sees(/practice model.*\r\n.*\/quit ends\.[^>]*> /s);
  terminal.type('Hello there\r');
  await terminal.sees(/Hello! I read: “Hello there”.*no language model.*\r\n[^>]*> /s);
  terminal.type('and now?\r');
  await terminal.sees(/I read: “and now\?”.*one earlier message.*“Hello there”.*\r\n[^>]*> /s);
  terminal.type('/new\r');
  await terminal.sees(/A new conversation begins\.[^>]*> /s);
  terminal.type('third\r');
  await terminal.sees(/I read: “third”.*the first message of our conversation[^>]*> /s);
  terminal.type('/quit\r');
  assert.equal(await terminal.ended, 0);
});

test('Ctrl-C clears a line that was begun, and ends at an empty one', async () => {
  const terminal = openTerminal(['--demo']);
  await terminal.sees(/> /);
  terminal.type('not to be sent');
  await terminal.sees(/not to be sent/);
  terminal.type('\x03');
  await terminal.sees(/\^C\r\n[^>]*> /s);
  terminal.type('sent\r');
  await terminal.sees(/I read: “sent”.*> /s);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 0);
});

test('Ctrl-D ends', async () => {
  const terminal = openTerminal(['--demo']);
  await terminal.sees(/> /);
  terminal.type('\x04');
  assert.equal(await terminal.ended, 0);
});

const old = oldNode();
const skip = old === null ? 'no Node older than 24 is on the PATH of this machine' : false;

test('the terminal works through the launcher of an old Node', { skip }, async () => {
  const terminal = openTerminal(['--demo'], old ?? '');
  await terminal.sees(/> /);
  terminal.type('Hello\r');
  await terminal.sees(/I read: “Hello”.*> /s);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 0);
});

function pipe(args: readonly string[], input: string): Run {
  const run = runSvc(['chat', ...args], { cwd: folder });
  run.child.stdin?.end(input);
  return run;
}

test('from a pipe every line is a message, and only replies are on standard output', async () => {
  const run = pipe([], 'Hello\n\nwhat now\n/new\nafresh');
  assert.deepEqual(await run.ended, { code: 0, signal: null }, run.err());
  const replies = run.out().trimEnd().split('\n');
  assert.equal(replies.length, 3, run.out());
  assert.match(replies[1]!, /“what now”.*one earlier message/);
  assert.match(replies[2]!, /“afresh”.*the first message/);
});

test('--explain tells the models, their times and the reason on standard error', async () => {
  const run = pipe(['--demo', '--explain'], 'Hello\n');
  await run.ended;
  assert.match(run.err(), /local_runtime\/practice: answer in \d+ ms\n.*priority: .*\n.*ms in all/);
  assert.doesNotMatch(run.out(), /ms in all/);
});

/** A runtime that keeps every chat waiting until it is let go. */
const asked: { release(): void }[] = [];
let onAsked: () => void = () => {};
const slow: Server = createServer((request, response) => {
  request.resume();
  asked.push({ release: () => response.end('{}') });
  onAsked();
});
before(() => new Promise<void>((resolve) => void slow.listen(0, '127.0.0.1', resolve)));
after(() => {
  slow.closeAllConnections();
  slow.close();
});

function brain(name: string, model: object): object {
  return { name, sensitivity: 'public', policy: { kind: 'priority' }, models: [model] };
}

const channel = {
  type: 'webhook',
  token_env: 'CHAT_TEST_SECRET',
  webhook: { outbound_url: 'http://127.0.0.1:9/' },
};

/** A configuration with two brains: one asks the slow runtime, the other needs a key. */
function writeConfig(): string {
  const base_url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const file = join(folder, 'chat.json');
  const hosted = { provider: 'hosted_runtime', model_id: 'm', locality: 'cloud' };
  const config = {
    channels: [channel],
    brains: [
      brain('slow', { provider: 'local_runtime', model_id: 'm', locality: 'local', base_url }),
      brain('paid', { ...hosted, api_key_env: 'CHAT_TEST_KEY', base_url }),
    ],
    routes: [{ channel: 'webhook', brain: 'slow' }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

test('Ctrl-C gives up the answer under way, and the conversation goes on', async () => {
  const terminal = openTerminal(['--config', writeConfig()]);
  await terminal.sees(/brain "slow" \(local_runtime\/m\).*> /s);
  const reached = new Promise<void>((resolve) => (onAsked = resolve));
  terminal.type('Hello\r');
  await reached;
  terminal.type('\x03');
  await terminal.sees(/Given up\.[^>]*> /s);
  terminal.type('/quit\r');
  assert.equal(await terminal.ended, 0);
});

test('SIGTERM ends it while an answer is under way', async () => {
  const reached = new Promise<void>((resolve) => (onAsked = resolve));
  const run = runSvc(['chat', '--config', writeConfig()], { cwd: folder });
  run.child.stdin?.write('Hello\n');
  await reached;
  run.child.kill('SIGTERM');
  assert.equal((await run.ended).signal, null);
});

test('a missing key of the chosen brain is named, and no other one', async () => {
  const run = pipe(['--config', writeConfig(), '--brain', 'paid'], '');
  assert.equal((await run.ended).code, 78);
  assert.match(run.err(), /CHAT_TEST_KEY is not set .*brains\[1\]\.models\[0\]\.api_key_env/);
  assert.doesNotMatch(run.err(), /CHAT_TEST_SECRET/);
});

test('a brain that is not there, a file that is not there and a wrong flag are said', async () => {
  const nobody = pipe(['--config', writeConfig(), '--brain', 'nobody'], '');
  assert.equal((await nobody.ended).code, 2);
  assert.match(nobody.err(), /no brain "nobody"; it has "slow", "paid"/);
  const nothing = pipe(['--config', 'nothing.json'], '');
  assert.equal((await nothing.ended).code, 78);
  assert.match(nothing.err(), /nothing\.json/);
  const wrong = pipe(['--explian'], '');
  assert.equal((await wrong.ended).code, 2);
  assert.match(wrong.err(), /Did you mean --explain\?/);
});

test('from a pipe, a model that is not reached is told, and ends with 1', async () => {
  const file = join(folder, 'unreached.json');
  const local = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
  const config = {
    channels: [channel],
    brains: [brain('away', { ...local, base_url: `http://127.0.0.1:${closedPort}` })],
    routes: [{ channel: 'webhook', brain: 'away' }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const run = pipe(['--config', file], 'Hello\nand once more\n');
  assert.deepEqual(await run.ended, { code: 1, signal: null }, run.err());
  assert.equal(run.out(), '');
  const told = /^I am busy .*\n {2}· local_runtime\/m: connect_failed after 3 tries in \d+ ms$/gm;
  assert.equal(run.err().match(told)?.length, 2, run.err());
});
