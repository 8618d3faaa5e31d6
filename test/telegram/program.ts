/** A service on a fake Telegram: the smallest config that answers there, and the program on it. */
import { lastOf } from '../agents/stage.ts';
import type { Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram, type FakeTelegram, type TelegramOptions } from '../fake/telegram.ts';
import { startServe, type Surroundings } from '../support/in-process.ts';
import { freePort, scratch, startProgram, writeConfig, type Program } from '../support/program.ts';

export type TelegramSetup = {
  readonly telegramUrl: string;
  readonly modelUrl: string;
  readonly adminPort: number;
  /** More fields of the channel's block, and of the document. */
  readonly channel?: object;
  readonly more?: object;
};

export function writeTelegramConfig(folder: string, setup: TelegramSetup): Promise<string> {
  // Only the tests of previews switch them on.
  const shows = { streaming: false };
  const channel = { type: 'telegram', mode: 'polling', token_env: 'TELEGRAM_TOKEN', ...shows };
  const model = { provider: 'local_runtime', model_id: 'llama3', locality: 'local' };
  return writeConfig(folder, {
    channels: [{ ...channel, base_url: setup.telegramUrl, ...setup.channel }],
    brains: [
      {
        name: 'echo',
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [{ ...model, base_url: setup.modelUrl }],
      },
    ],
    routes: [{ channel: 'telegram', brain: 'echo' }],
    observability: { addr: `127.0.0.1:${setup.adminPort}` },
    ...setup.more,
  });
}

export function spawnOn(file: string, { token }: Pick<FakeTelegram, 'token'>): Program {
  return startProgram(['serve', '--config', file], { TELEGRAM_TOKEN: token });
}

type Stage = Pick<TelegramSetup, 'channel' | 'more'> & {
  /** The capabilities that the model reports. */
  readonly capabilities?: readonly string[];
  /** Of the platform. */
  readonly random?: () => number;
  readonly draftsFor?: TelegramOptions['draftsFor'];
};

/** The surroundings of a service on Telegram, and functions that start it. */
export async function openTelegram(script: Script, stage: Stage = {}) {
  await using made = new AsyncDisposableStack();
  const { random, draftsFor, capabilities, ...setup } = stage;
  const { path: folder } = made.use(await scratch());
  const platform = { ...(random && { random }), ...(draftsFor && { draftsFor }) };
  const telegram = made.use(await startFakeTelegram({ secondMs: 20, ...platform }));
  const model = made.use(await startFakeOllama(script, capabilities && { capabilities }));
  const adminPort = await freePort();
  const where = { telegramUrl: telegram.url, modelUrl: model.url, adminPort };
  const file = await writeTelegramConfig(folder, { ...where, ...setup });
  const user = telegram.person('Ann');
  const own = made.move();
  return {
    folder,
    file,
    telegram,
    model,
    adminPort,
    /** Ann, and her chat with the bot. */
    user,
    ann: telegram.privateChat(user),
    start: (env: Surroundings['env'] = {}) =>
      startServe(file, { TELEGRAM_TOKEN: telegram.token, ...env }),
    /** In a separate process, which a test can kill. */
    spawn: () => spawnOn(file, telegram),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** Repeats the last message. */
export const echo: Script = (call) => ({ answer: lastOf(call).content });
export const durable = { storage: { path: 'svc.db' }, session: {} };
