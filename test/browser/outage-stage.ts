/**
 * A running svc for outages: the webhook and Telegram before one model, storage in a file, and
 * constant messages on both channels. A test can break each of its dependencies.
 */
import { mkdirSync, writeFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildShim } from '../chaos/disk.ts';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Answer } from '../fake/receiver.ts';
import { startFakeTelegram, type FakeTelegram } from '../fake/telegram.ts';
import {
  freePort,
  post,
  scratch,
  serve,
  webhookConfig,
  writeConfig,
  type Program,
} from '../support/program.ts';
import type { Site } from './browser.ts';

/**
 * The time between two messages, which alternate between the channels. A longer time sends fewer
 * messages, and shows the same.
 */
const everyMs = 150;
/** Number of senders: each conversation waits only for itself. */
const senders = 40;

export type OutageStage = Site & {
  readonly model: FakeModel;
  readonly telegram: FakeTelegram;
  /** Sets the receiver's answer from now on. */
  readonly receiverIs: (answer: Answer) => void;
  /** Fills or frees the disk; null: this machine cannot put a fault under the disk. */
  readonly disk: { readonly is: (state: 'full' | 'roomy') => void } | null;
  /** Restarts svc, as a person does after correcting its secrets. */
  readonly restart: () => Promise<void>;
};

export async function startOutageStage(): Promise<OutageStage> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await scratch());
  const model = opened.use(await startFakeOllama({ answer: 'It opens at nine.' }));
  const receiver = opened.use(await startReceiver());
  const telegram = opened.use(await startFakeTelegram({ secondMs: 1_000 }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const at = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const disk = diskUnder(folder.path);
  const file = await writeConfig(folder.path, documentOf(at, telegram));
  const env = { TELEGRAM_TOKEN: telegram.token, ...disk?.env };
  let program: Program = await serve(file, port, env);
  opened.defer(() => program[Symbol.asyncDispose]());
  opened.defer(sendMessages(`http://127.0.0.1:${port}/webhook`, telegram));
  const stack = opened.move();
  return {
    origin: `http://127.0.0.1:${adminPort}`,
    model,
    telegram,
    receiverIs(answer) {
      receiver.script.length = 0;
      // More answers than the outage of a test can use up.
      if (answer !== 200) receiver.script.push(...Array<Answer>(20_000).fill(answer));
    },
    disk,
    async restart() {
      program.child.kill('SIGTERM');
      await program.ended;
      program = await serve(file, port, env);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The database has its own folder, so that only the database fails. */
const store = 'store';

function diskUnder(folder: string) {
  const stored = join(folder, store);
  mkdirSync(stored, { mode: 0o700 });
  const shim = buildShim(folder);
  if ('why' in shim) {
    console.error(`NOT TESTED: an outage of the disk: ${shim.why}.`);
    return null;
  }
  const whileThere = join(folder, 'disk-is-full');
  const env = {
    LD_PRELOAD: shim.file,
    SVC_DISK_FOLDER: stored,
    SVC_DISK_LOG: join(folder, 'disk.log'),
    SVC_DISK_FAULT: 'write-enospc',
    SVC_DISK_PERMILLE: '1000',
    SVC_DISK_WHILE: whileThere,
  };
  return {
    env,
    is(state: 'full' | 'roomy'): void {
      if (state === 'full') writeFileSync(whileThere, '');
      else rmSync(whileThere, { force: true });
    },
  };
}

function documentOf(at: Parameters<typeof webhookConfig>[0], telegram: FakeTelegram) {
  const config = webhookConfig(at);
  const [brain] = config.brains;
  const [model] = brain!['models'] as object[];
  const access = { token_env: 'TELEGRAM_TOKEN', base_url: telegram.url };
  return {
    ...config,
    channels: [...config.channels, { type: 'telegram', mode: 'polling', ...access }],
    // A hanging call ends within the test.
    brains: [{ ...brain, models: [{ ...model, timeout_seconds: 20 }] }],
    routes: [...config.routes, { channel: 'telegram', brain: 'echo' }],
    storage: { path: join(store, 'svc.db') },
  };
}

/** @returns a function that stops the messages */
function sendMessages(webhook: string, telegram: FakeTelegram): () => Promise<void> {
  const chats = Array.from({ length: senders }, (_, n) => {
    return telegram.privateChat(telegram.person(`Ada ${n}`));
  });
  const ended = new AbortController();
  const said = async (): Promise<void> => {
    for (let n = 0; !ended.signal.aborted; n++) {
      await pause(everyMs);
      if (n % 2 === 0) telegram.say(chats[(n / 2) % senders]!, 'When do you open?');
      else void say(webhook, `ada-${n % senders}`);
    }
  };
  const running = said();
  return async () => {
    ended.abort();
    await running;
  };
}

/** Ignores refusals and missing servers, which are the outage. */
async function say(webhook: string, who: string): Promise<void> {
  const text = 'When do you open?';
  await post(webhook, { sender_id: who, conversation_id: who, text }).catch(() => {});
}
