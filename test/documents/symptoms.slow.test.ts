/** The tables “If it does not work” of the first pages quote what svc prints. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandSentences, sentences } from '../../src/pipeline/sentences.ts';
import { startInit, type InitAround, type InitStage } from '../cli/init-stage.ts';
import { closedPort } from '../fake/closed-port.ts';
import { startFakeDiscord } from '../fake/discord.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { runCommand, startServe } from '../support/in-process.ts';
import { freePort, scratch } from '../support/program.ts';
import { textOf } from './blocks.ts';

const nowhere = `http://127.0.0.1:${closedPort}`;

/** Words in the tables that svc does not print: those of a shell, and fields of the file. */
const notPrinted = new Set(['svc: command not found', '"groups": "all"', 'access']);

/** The quotations in the first column of the page's last table. */
function symptomsOf(page: string): readonly string[] {
  const [, part = ''] = textOf(page).split('\n## If it does not work\n');
  const rows = part.split('\n## ')[0]!.split('\n');
  const cells = rows.filter((row) => row.startsWith('|')).map((row) => row.split('|')[1]!);
  const quoted = cells.flatMap((cell) =>
    Array.from(cell.matchAll(/`([^`]+)`/g), ([, one]) => one!),
  );
  return quoted.filter((one) => !notPrinted.has(one));
}

/** Ports of a test are others than those of a reader. */
const anyPort = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1');

function assertPrinted(page: string, printed: readonly string[]): void {
  const symptoms = symptomsOf(page);
  assert.ok(symptoms.length > 4, `${page} quotes svc`);
  const text = anyPort(printed.join('\n'));
  for (const symptom of symptoms) {
    const parts = anyPort(symptom)
      .split('…')
      .map((part) => RegExp.escape(part));
    assert.match(text, new RegExp(parts.join('[^\\n]*')), `${page}: ${symptom}`);
  }
}

/** Returns the terminal's text once the steps are done. */
async function initShows(
  around: InitAround,
  steps: (init: InitStage) => Promise<void>,
): Promise<string> {
  await using init = await startInit(around);
  await steps(init);
  return init.seen();
}

/** The first run without a runtime, and with a runtime that has no model. */
async function withoutModel(): Promise<readonly string[]> {
  await using empty = await startFakeOllama(undefined, { models: [] });
  const [away, none] = [{ ollama: nowhere }, { ollama: empty.url }];
  return [
    await initShows(away, (init) => init.sees(/No model runtime answers/)),
    await initShows(none, (init) => init.sees(/but it has no model yet/)),
  ];
}

type Folder = AsyncDisposable & {
  readonly file: string;
  run(...args: readonly string[]): Promise<string>;
};

/** A folder with the `svc.json` of `svc init --yes`, on free ports. */
async function makeFolder(
  channel: string,
  env: Readonly<Record<string, string>>,
  more: readonly string[],
): Promise<Folder> {
  await using own = new AsyncDisposableStack();
  const { path } = own.use(await scratch());
  const run = async (...args: readonly string[]): Promise<string> => {
    const { out, err } = await runCommand(args, { cwd: path, env: { HOME: path, ...env } });
    return `${out}${err}`;
  };
  const provider = ['--provider', 'ollama', '--model', 'llama3.2'];
  await run('init', '--yes', '--channel', channel, ...provider, ...more);
  const file = join(path, 'svc.json');
  const rest = own.move();
  return { file, run, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}

/** Changes the text of `svc.json` so that it takes these ports. */
async function usePorts({ file }: Folder, webhook: number, admin: number): Promise<void> {
  const document = JSON.parse(await readFile(file, 'utf8')) as {
    channels: { webhook?: object }[];
  };
  for (const channel of document.channels) {
    if (channel.webhook) Object.assign(channel.webhook, { bind: `127.0.0.1:${webhook}` });
  }
  Object.assign(document, { observability: { addr: `127.0.0.1:${admin}` } });
  await writeFile(file, JSON.stringify(document));
}

async function inEmptyFolder(...args: readonly string[]): Promise<string> {
  await using folder = await scratch();
  const { err } = await runCommand(args, { cwd: folder.path, env: { HOME: folder.path } });
  return err;
}

/** Returns what a second service on the folder of a running one prints. */
async function secondService(folder: Folder, env: Readonly<Record<string, string>>) {
  await using service = startServe(folder.file, env);
  await service.saw('"listening"');
  // Awaited here: the first service runs until the second one has ended.
  return await folder.run('serve');
}

test('docs/get-started/webhook.md quotes svc', async () => {
  const env = { WEBHOOK_SECRET: 'a-secret-that-is-long-enough-for-svc' };
  await using model = await startFakeOllama(undefined, { models: ['gemma3:latest'] });
  await using far = await makeFolder('webhook', env, ['--base-url', nowhere]);
  await using near = await makeFolder('webhook', env, ['--base-url', model.url]);
  await using unset = await makeFolder('webhook', {}, ['--base-url', model.url]);
  await using holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  await usePorts(near, port, await freePort());
  const printed = [
    await far.run('config', 'check', '--preflight'),
    await near.run('config', 'check', '--preflight'),
    await near.run('serve'),
    await unset.run('serve'),
    await inEmptyFolder('serve'),
  ];
  await usePorts(near, await freePort(), await freePort());
  printed.push(await near.run('send', 'Hello'), await secondService(near, env));
  await using service = startServe(near.file, env);
  await service.saw('"listening"');
  const other = { env: { WEBHOOK_SECRET: 'another-secret-that-is-long-enough' } };
  const sent = await runCommand(['send', '--config', near.file, 'Hello'], other);
  printed.push(sent.err, ...Object.values(sentences), ...(await withoutModel()));
  assert.equal(await service.stop(), 0);
  assertPrinted('docs/get-started/webhook.md', printed);
});

/** Goes to the question for the token, and pastes each in turn. */
async function pasteTokens(
  init: InitStage,
  choice: string,
  tokens: readonly (readonly [token: string, seen: RegExp])[],
): Promise<void> {
  await init.answer(/The model that answers/);
  await init.answer(/llama3\.2 answered in/);
  await init.answer(/Where messages come from/, choice);
  for (const [token, seen] of tokens) {
    await init.answer(/1 {2}Paste/);
    await init.sees(/_TOKEN \(it is not shown\): /);
    init.type(`${token}\r`);
    await init.sees(seen);
  }
}

/** Another program that polls with the token of the bot. */
class Poller {
  readonly #ended = new AbortController();

  constructor(url: string) {
    void this.#run(url);
  }

  stop(): void {
    this.#ended.abort();
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  async #run(url: string): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const answer = await fetch(url, { signal }).catch(() => null);
      await answer?.text();
    }
  }
}

const startModel = () => startFakeOllama(undefined, { models: ['llama3.2:latest'] });

test('docs/get-started/telegram.md quotes svc', async () => {
  await using model = await startModel();
  await using telegram = await startFakeTelegram({ secondMs: 20 });
  const env = { TELEGRAM_TOKEN: telegram.token };
  const more = ['--base-url', model.url, '--channel-url', telegram.url];
  await using folder = await makeFolder('telegram', env, more);
  await using unset = await makeFolder('telegram', {}, more);
  await usePorts(folder, 0, await freePort());
  const printed = [await secondService(folder, env), await unset.run('serve')];
  await using service = startServe(folder.file, env);
  await service.saw('"listening"');
  using other = new Poller(`${telegram.url}/bot${telegram.token}/getUpdates?timeout=50`);
  await service.saw('polls with the token');
  other.stop();
  printed.push(service.log(), commandSentences.pairing('K7WX-3MQA'), ...Object.values(sentences));
  assert.equal(await service.stop(), 0);
  const wrong = '123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1';
  printed.push(
    await initShows({ ollama: model.url, platform: telegram.url }, (init) =>
      pasteTokens(init, '2', [
        ['half', /holds no bot token/],
        [wrong, /Refused the token/],
      ]),
    ),
    await initShows({ ollama: model.url, platform: nowhere }, (init) =>
      pasteTokens(init, '2', [[wrong, /Could not be asked/]]),
    ),
    ...(await withoutModel()),
  );
  assertPrinted('docs/get-started/telegram.md', printed);
});

test('docs/get-started/discord.md quotes svc', async () => {
  await using model = await startModel();
  await using discord = await startFakeDiscord({ allowedIntents: 0 });
  const env = { DISCORD_TOKEN: discord.token };
  const more = ['--base-url', model.url, '--channel-url', discord.url];
  await using folder = await makeFolder('discord', env, more);
  await using unset = await makeFolder('discord', {}, more);
  await usePorts(folder, 0, await freePort());
  const printed = [await secondService(folder, env), await unset.run('serve')];
  await using service = startServe(folder.file, env);
  await service.saw('switch on MESSAGE CONTENT INTENT');
  printed.push(service.log(), commandSentences.pairing('K7WX-3MQA'), ...Object.values(sentences));
  assert.equal(await service.stop(), 0);
  const wrong = 'MTIzNDU2Nzg5MDEyMzQ1Njc4.G123ab.abcdefghijklmnopqrstuvwxyzabcdefghijkl';
  printed.push(
    await initShows({ ollama: model.url, platform: discord.url }, (init) =>
      pasteTokens(init, '3', [
        ['half', /is no bot token/],
        [wrong, /was refused/],
      ]),
    ),
    await initShows({ ollama: model.url, platform: nowhere }, (init) =>
      pasteTokens(init, '3', [[wrong, /could not be reached/]]),
    ),
    ...(await withoutModel()),
  );
  assertPrinted('docs/get-started/discord.md', printed);
});

test('docs/get-started/first-run.md quotes svc', async () => {
  await using model = await startModel();
  await using failing = await startFakeOllama({ fail: '500' }, { models: ['m:latest'] });
  await using holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const env = { WEBHOOK_SECRET: 'a-secret-that-is-long-enough-for-svc' };
  await using made = await makeFolder('webhook', env, ['--base-url', model.url]);
  await usePorts(made, port, await freePort());
  const text = await readFile(made.file, 'utf8');
  const prepare = (folder: string): Promise<void> => writeFile(join(folder, 'svc.json'), text);
  const printed = [
    ...(await withoutModel()),
    await initShows({ ollama: failing.url }, async (init) => {
      await init.answer(/The model that answers/);
      await init.sees(/gave no answer/);
    }),
    await initShows({ ollama: model.url, env, prepare }, async (init) => {
      await init.answer(/is there already/);
      await init.sees(/It did not start:/);
    }),
    await initShows({ ollama: model.url }, async (init) => {
      await init.answer(/The model that answers/);
      await init.answer(/llama3\.2 answered in/);
      await init.answer(/Where messages come from/);
      await init.sees(/There is no session bus/);
    }),
    await made.run('init'),
  ];
  assertPrinted('docs/get-started/first-run.md', printed);
});
