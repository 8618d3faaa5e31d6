/** Commands as Telegram shows them: https://core.telegram.org/bots/api#setmycommands. */
import { CommandMenu } from '../command-menu.ts';
import type { CommandNotice } from '../channel.ts';
import type { BotApi } from './bot-api.ts';
import { object } from './fields.ts';

type Shown = readonly { readonly command: string; readonly description: string }[];

const callMs = 15_000;
/** What a command may be here; it stays one where it is not shown. */
const commandShape = /^[a-z0-9_]{1,32}$/;
const shownMax = 100;

/** @param api null: it is not loaded */
export function createCommandMenu(api: () => BotApi | null): CommandMenu<Shown> {
  return new CommandMenu<Shown>({
    read: async (signal) => {
      const got = await api()?.call('getMyCommands', {}, callMs, signal);
      return got?.kind === 'done' ? shownIn(got.result) : null;
    },
    write: async (commands, signal) => {
      const set = await api()?.call('setMyCommands', { commands }, callMs, signal);
      return set?.kind === 'done';
    },
  });
}

export function shownOf(commands: readonly CommandNotice[]): Shown {
  return commands
    .filter(({ word }) => commandShape.test(word))
    .slice(0, shownMax)
    .map(({ word, description }) => ({ command: word, description }));
}

function shownIn(result: unknown): Shown | null {
  if (!Array.isArray(result)) return null;
  return result.map((one) => {
    const { command, description } = object(one) ?? {};
    return { command: String(command), description: String(description) };
  });
}
