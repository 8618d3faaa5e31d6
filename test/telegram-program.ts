/** A service on a fake Telegram: the smallest config that answers there, and the program on it. */
import type { FakeTelegram } from './fake/telegram.ts';
import { startProgram, writeConfig } from './program.ts';
import type { Program } from './program.ts';

export type TelegramSetup = {
  readonly telegramUrl: string;
  readonly modelUrl: string;
  readonly adminPort: number;
  /** More of the channel's block, and of the document. */
  readonly channel?: object;
  readonly more?: object;
};

export function writeTelegramConfig(folder: string, setup: TelegramSetup): Promise<string> {
  // What is shown of a reply before it is whole is for the tests of just that.
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
