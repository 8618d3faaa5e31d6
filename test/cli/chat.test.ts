/** `svc chat` in use: at a terminal, and with a pipe in front of it. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ModelName } from '../../src/domain/ids.ts';
import { closedPort } from '../fake/closed-port.ts';
import type { ModelCall, Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { settled } from '../fake/scripted-model.ts';
import type { Command } from '../../src/cli/cli.ts';
import { chat } from '../../src/cli/chat.ts';
import type { Session } from '../../src/cli/chat-session.ts';
import { runConsole } from '../../src/cli/frame/console.ts';
import { runCommand } from '../support/in-process.ts';
import { scratch } from '../support/program.ts';
import { oldNode, runSvc } from '../support/run-svc.ts';
import { openRealTerminal, openTerminal } from '../support/terminal.ts';

test('three exchanges at a terminal: a greeting, memory, and a new conversation', async () => {
  await using terminal = openRealTerminal(['chat', '--demo']);
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
  await using terminal = openTerminal(['chat', '--demo']);
  await terminal.sees(/> /);
  terminal.type('not to be sent');
  await terminal.sees(/not to be sent/);
  terminal.type('\x03');
  await terminal.sees(/\^C\r?\n[^>]*> /s);
  terminal.type('sent\r');
  await terminal.sees(/I read: “sent”.*> /s);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 0);
});

test('Ctrl-D ends', async () => {
  await using terminal = openTerminal(['chat', '--demo']);
  await terminal.sees(/> /);
  terminal.type('\x04');
  assert.equal(await terminal.ended, 0);
});

const old = oldNode();
const skip = old === null ? 'no Node older than 24 is on the PATH of this machine' : false;

test('the terminal works through the launcher of an old Node', { skip }, async () => {
  await using terminal = openRealTerminal(['chat', '--demo'], { node: old ?? '' });
  await terminal.sees(/> /);
  terminal.type('Hello\r');
  await terminal.sees(/I read: “Hello”.*> /s);
  terminal.type('\x03');
  assert.equal(await terminal.ended, 0);
});

test('from a pipe every line is a message, and only replies are on standard output', async () => {
  await using folder = await scratch();
  const input = 'Hello\n\nwhat now\n/new\nafresh';
  const { code, out, err } = await runCommand(['chat'], { cwd: folder.path, input });
  assert.equal(code, 0, err);
  const replies = out.trimEnd().split('\n');
  assert.equal(replies.length, 3, out);
  assert.match(replies[1]!, /“what now”.*one earlier message/);
  assert.match(replies[2]!, /“afresh”.*the first message/);
});

test('at a terminal with colours the reasons are dim, and the reply is not', async () => {
  for (const [env, dim] of [
    [{}, '\u001B[2m'],
    [{ NO_COLOR: '1' }, ''],
  ] as const) {
    await using terminal = openTerminal(['chat', '--demo', '--explain'], { env });
    await terminal.sees(/> /);
    terminal.type('Hello\r');
    await terminal.sees(/ms in all[^>]*> /);
    const lines = terminal.seen().split(/\r?\n/);
    assert.ok(lines.some((line) => line.includes('Hello! I read') && !line.includes('\u001B[2m')));
    const reasons = lines.filter((line) => line.includes(' · '));
    assert.ok(reasons.length > 1);
    for (const line of reasons) {
      assert.ok(line.includes(`${dim}  · `), JSON.stringify(line));
      assert.equal(line.includes('\u001B[22m'), dim !== '');
    }
  }
});

test('--explain tells the models, their times and the reason on standard error', async () => {
  const words = ['chat', '--demo', '--explain'];
  const { out, err } = await runCommand(words, { input: 'Hello\n' });
  assert.match(err, /local_runtime\/practice: answer in \d+ ms\n.*priority: .*\n.*ms in all/);
  assert.doesNotMatch(out, /ms in all/);
});

const channel = {
  type: 'webhook',
  token_env: 'CHAT_TEST_SECRET',
  webhook: { outbound_url: 'http://127.0.0.1:9/' },
};

function brain(name: string, model: object): object {
  return { name, sensitivity: 'public', policy: { kind: 'priority' }, models: [model] };
}

/**
 * A configuration with two brains: one asks a runtime that never answers, the other needs a key.
 * `asked` resolves when the runtime gets the request.
 */
async function stage() {
  const own = new AsyncDisposableStack();
  const folder = own.use(await scratch());
  const asked = Promise.withResolvers<void>();
  const slow = own.use(
    createServer((request) => {
      request.resume();
      asked.resolve();
    }).listen(0, '127.0.0.1'),
  );
  await once(slow, 'listening');
  own.defer(() => slow.closeAllConnections());
  const base_url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const file = join(folder.path, 'chat.json');
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
  return {
    file,
    cwd: folder.path,
    asked: asked.promise,
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('Ctrl-C gives up the answer under way, and the conversation goes on', async () => {
  await using on = await stage();
  await using terminal = openTerminal(['chat', '--config', on.file]);
  await terminal.sees(/brain "slow" \(local_runtime\/m\).*> /s);
  terminal.type('Hello\r');
  await on.asked;
  terminal.type('\x03');
  await terminal.sees(/Given up\.[^>]*> /s);
  terminal.type('/quit\r');
  assert.equal(await terminal.ended, 0);
});

test('SIGTERM ends it while an answer is under way', async () => {
  await using on = await stage();
  const run = runSvc(['chat', '--config', on.file], { cwd: on.cwd });
  run.child.stdin?.write('Hello\n');
  await on.asked;
  run.child.kill('SIGTERM');
  assert.equal((await run.ended).signal, null);
});

test('a missing key of the chosen brain is named, and no other one', async () => {
  await using on = await stage();
  const { code, err } = await runCommand(['chat', '--config', on.file, '--brain', 'paid']);
  assert.equal(code, 78);
  assert.match(err, /CHAT_TEST_KEY is not set; .*brains\[1\]\.models\[0\]\.api_key_env/);
  assert.match(err, /\n {2}Set it in the environment: export CHAT_TEST_KEY=…\n/);
  assert.doesNotMatch(err, /CHAT_TEST_SECRET/);
  const env = { CHAT_TEST_KEY: '' };
  const empty = await runCommand(['chat', '--config', on.file, '--brain', 'paid'], { env });
  assert.equal(empty.code, 78);
  assert.match(
    empty.err,
    /CHAT_TEST_KEY is set, but empty; .*\n.*CHAT_TEST_KEY in the environment \(empty\)/,
  );
});

test('a brain that is not there, a file that is not there and a wrong flag are said', async () => {
  await using on = await stage();
  const nobody = await runCommand(['chat', '--config', on.file, '--brain', 'nobody']);
  assert.equal(nobody.code, 2);
  assert.match(nobody.err, /no brain "nobody"; it has "slow", "paid"/);
  const nothing = await runCommand(['chat', '--config', 'nothing.json'], { cwd: on.cwd });
  assert.equal(nothing.code, 78);
  assert.match(nothing.err, /nothing\.json/);
  const wrong = await runCommand(['chat', '--explian']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /Did you mean --explain\?/);
});

/** Writes the configuration of an unreachable model. @returns its file */
function writeUnreached(folder: string): string {
  const file = join(folder, 'unreached.json');
  const local = { provider: 'local_runtime', model_id: 'm', locality: 'local' };
  const config = {
    channels: [channel],
    brains: [brain('away', { ...local, base_url: `http://127.0.0.1:${closedPort}` })],
    routes: [{ channel: 'webhook', brain: 'away' }],
  };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}

test('from a pipe, a model that is not reached is told, and ends with 1', async () => {
  await using folder = await scratch();
  const file = writeUnreached(folder.path);
  const run = await runCommand(['chat', '--config', file], { input: 'Hello\nand once more\n' });
  assert.equal(run.code, 1, run.err);
  assert.equal(run.out, '');
  const told = new RegExp(
    '^I am busy .*\\n {2}· local_runtime/m: connect_failed after 3 tries in \\d+ ms\\. ' +
      'Ollama is not running: `ollama serve`\\. If it is, check base_url\\.$',
    'gm',
  );
  assert.equal(run.err.match(told)?.length, 2, run.err);
  assert.doesNotMatch(run.err, /model_failed/, 'it is told once');
});

test('a process whose input is over stays until it has said that there is no answer', async () => {
  await using folder = await scratch();
  const run = runSvc(['chat', '--config', writeUnreached(folder.path)]);
  run.child.stdin?.end('Hello\n');
  assert.deepEqual(await run.ended, { code: 1, signal: null });
  assert.match(run.err(), /^I am busy .*\n.*Ollama is not running: `ollama serve`/);
});

/** A brain of these models, one after the other; each follows its script. */
async function writers(scripts: readonly Script[], settings: object = {}) {
  const own = new AsyncDisposableStack();
  const folder = own.use(await scratch());
  const models = [];
  for (const script of scripts) models.push(own.use(await startFakeOllama(script)));
  const asked = models.map(({ url: base_url }, index) => {
    return { provider: 'local_runtime', model_id: `model-${index}`, locality: 'local', base_url };
  });
  const brains = [
    {
      ...brain('main', {}),
      dispatch: 'sequential',
      models: asked,
      ...settings,
    },
  ];
  const file = join(folder.path, 'writers.json');
  const config = { channels: [channel], brains, routes: [{ channel: 'webhook', brain: 'main' }] };
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return { file, models, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

/** Holds a model's answer back behind its first word. */
function heldBack(answer: string) {
  const gate = Promise.withResolvers<void>();
  const between = (piece: number) => (piece === 0 ? gate.promise : undefined);
  return { step: { answer, between }, goOn: () => gate.resolve() };
}

const isStreamed = ({ body }: ModelCall): unknown => (body as { stream?: unknown }).stream;

test('at a terminal the reply is seen while the model writes it, once', async () => {
  const { step, goOn } = heldBack('\n\n One two\nthree \n');
  await using on = await writers([step]);
  await using terminal = openTerminal(['chat', '--config', on.file]);
  await terminal.sees(/\/quit ends\.[^>]*> /);
  terminal.type('Count\r');
  await terminal.sees(/One$/);
  goOn();
  await terminal.sees(/^ two\nthree\n[^>]*> $/);
  assert.equal(terminal.seen().split('One').length, 2);
  terminal.type('/quit\r');
  assert.equal(await terminal.ended, 0);
});

test('where another model answers, its whole reply stands below what was begun', async () => {
  const broken = {
    answer: 'Wrong and more',
    between(): void {
      throw new Error('the connection is cut');
    },
  };
  await using on = await writers([broken, { answer: 'Right, and all of it' }]);
  await using terminal = openTerminal(['chat', '--config', on.file]);
  await terminal.sees(/> /);
  terminal.type('Hello\r');
  await terminal.sees(/Wrong\nThe text above is not the reply\.\nRight, and all of it\n[^>]*> $/);
});

test('a reply that no model finishes is told as what it is', async () => {
  const broken = {
    answer: 'Half of',
    between(): void {
      throw new Error('the connection is cut');
    },
  };
  await using on = await writers([broken]);
  await using terminal = openTerminal(['chat', '--config', on.file]);
  await terminal.sees(/> /);
  terminal.type('Hello\r');
  await terminal.sees(/Half\nThe text above is not the reply\.\nSorry.*\/model-0: .*\n[^>]*> /s);
  assert.equal(terminal.seen().split('Half').length, 2, 'a try that begins the same adds nothing');
});

test('Ctrl-C in the middle of a reply ends it on a line of its own', async () => {
  const { step } = heldBack('One two');
  await using on = await writers([step]);
  await using terminal = openTerminal(['chat', '--config', on.file]);
  await terminal.sees(/> /);
  terminal.type('Count\r');
  await terminal.sees(/One$/);
  terminal.type('\x03');
  await terminal.sees(/^\nGiven up\.\n[^>]*> $/);
  assert.equal(await on.models[0]!.calls[0]!.over, 'gone');
});

test('what is typed while a reply grows comes with the next prompt', async () => {
  const { step, goOn } = heldBack('One two');
  await using on = await writers([(_call, before) => (before === 0 ? step : { answer: 'Yes' })]);
  await using terminal = openTerminal(['chat', '--config', on.file]);
  await terminal.sees(/> /);
  terminal.type('Count\r');
  await terminal.sees(/One$/);
  terminal.type('second\rthi');
  await settled();
  goOn();
  await terminal.sees(/^ two\n> second\n/);
  await terminal.sees(/Yes\n[^>]*> [^>]*thi$/);
  terminal.type('rd\r');
  await terminal.sees(/Yes\n/);
  const said = on.models[0]!.calls.map(({ body }) => (body as Chat).messages.at(-1)!.content);
  assert.deepEqual(said, ['Count', 'second', 'third']);
});

type Chat = { readonly messages: readonly { readonly content: string }[] };

test('what could drive the terminal is taken out of a reply that grows', async () => {
  const { step, goOn } = heldBack('\x1b[31mred \x1b]0;title\x07 \u202ebidi\r\nnext');
  await using on = await writers([step]);
  await using terminal = openTerminal(['chat', '--config', on.file]);
  await terminal.sees(/> /);
  terminal.type('Hello\r');
  await terminal.sees(/\[31mred$/);
  goOn();
  await terminal.sees(/^ \]0;title bidi\nnext\n/);
  const seen = terminal.seen();
  for (const taken of ['\x1b[31m', '\x1b]0', '\x07', '\u202e']) assert.ok(!seen.includes(taken));
});

/** Talks to a fake that shows these texts in order; the last one is the reply. */
function showing(...texts: readonly string[]): Command {
  const session: Session = {
    ask: async (_text, _signal, show) => {
      for (const text of texts) show?.(text);
      const text = texts.at(-1)!;
      return {
        decision: { kind: 'reply', text, model: 'a/b' as ModelName, why: '' },
        steps: [],
        ms: 1,
      };
    },
    startAfresh() {},
    [Symbol.asyncDispose]: async () => {},
  };
  const run: Command['run'] = (_args, io) =>
    runConsole(session, { io, explain: false, introduction: '' });
  return { ...chat, run };
}

test('half a character, and a text that is shorter for a moment, are no break', async () => {
  const command = showing('one \ud83d', 'one', 'one \ud83d\ude00 t', 'one \ud83d\ude00 two');
  await using terminal = openTerminal(['chat'], { command });
  await terminal.sees(/> /);
  terminal.type('Hello\r');
  await terminal.sees(/2Kone \ud83d\ude00 two\n/);
});

test('a reply that is less than what was shown stands below it, whole', async () => {
  await using terminal = openTerminal(['chat'], { command: showing('one two', 'one') });
  await terminal.sees(/> /);
  terminal.type('Hello\r');
  await terminal.sees(/one two\nThe text above is not the reply\.\none\n[^>]*> /);
});

test('nothing grows from a pipe, with a consensus, or of an agent', async () => {
  await using on = await writers([{ answer: 'Yes' }]);
  const piped = await runCommand(['chat', '--config', on.file], { input: 'Hello\n' });
  assert.equal(piped.out, 'Yes\n');
  const agreed = { dispatch: 'fanout', policy: { kind: 'consensus' } };
  await using both = await writers([{ answer: 'Yes' }, { answer: 'Yes' }], agreed);
  await using agent = await writers([{ answer: 'Yes' }], { agent: { tools: ['calc'] } });
  for (const { file } of [both, agent]) {
    await using terminal = openTerminal(['chat', '--config', file]);
    await terminal.sees(/> /);
    terminal.type('Hello\r');
    await terminal.sees(/Yes\n/);
  }
  const calls = [on, both, agent].flatMap(({ models }) => models.flatMap((one) => one.calls));
  assert.deepEqual(calls.map(isStreamed), [false, false, false, false]);
});
