/**
 * The menu of commands: https://core.telegram.org/bots/api#setmycommands. Telegram keeps one list,
 * which the bot's owner may have made with BotFather. The owner's commands come first, and replace
 * a command of svc with the same word.
 */
import type { MenuOutcome } from '../messenger/command-menu.ts';
import type { CommandNotice, OfferedCommands } from '../channel.ts';
import type { BotApi, CallResult } from './bot-api.ts';
import { object } from './fields.ts';

type Shown = { readonly command: string; readonly description: string };

const callMs = 15_000;
/** The shape of a command in the menu. Other commands work, but the menu does not show them. */
const commandShape = /^[a-z0-9_]{1,32}$/;
const shownMax = 100;

/** @param api null: it is not loaded */
export async function publishCommands(
  api: BotApi | null,
  { commands, own }: OfferedCommands,
  signal: AbortSignal,
): Promise<MenuOutcome> {
  const got = await api?.call('getMyCommands', {}, callMs, signal);
  if (got?.kind !== 'done') return menuOutcomeOf(got);
  const shown = shownIn(got.result);
  const others = shown.filter(({ description }) => !own.has(description));
  const ours = shownOf(commands).filter((one) =>
    others.every(({ command }) => command !== one.command),
  );
  const wanted = [...others, ...ours].slice(0, shownMax);
  if (JSON.stringify(shown) === JSON.stringify(wanted)) return { kind: 'there' };
  return menuOutcomeOf(await api?.call('setMyCommands', { commands: wanted }, callMs, signal));
}

function menuOutcomeOf(result: CallResult | undefined): MenuOutcome {
  if (result?.kind === 'done') return { kind: 'there' };
  if (result?.kind !== 'refused') return { kind: 'away', retryAfterMs: null };
  const { status, description, retryAfterMs } = result;
  // A proxy's page or a refused token has nothing to do with the commands.
  if (status !== 400 || description === '') return { kind: 'away', retryAfterMs };
  const message =
    'Telegram refused the menu of commands (400), which stays as it is; each can be written all ' +
    'the same. Set the menu with @BotFather (/setcommands), where it is to show them';
  return { kind: 'refused', message };
}

function shownOf(commands: readonly CommandNotice[]): readonly Shown[] {
  return commands
    .filter(({ word }) => commandShape.test(word))
    .map(({ word, description }) => ({ command: word, description }));
}

function shownIn(result: unknown): readonly Shown[] {
  if (!Array.isArray(result)) return [];
  return result.map((one) => {
    const { command, description } = object(one) ?? {};
    return { command: String(command), description: String(description) };
  });
}
