/**
 * The menu of commands, and reactions, of the fake. Pages:
 * https://core.telegram.org/bots/api#setmycommands, #botcommand and #setmessagereaction. Refusals
 * use the words of the platform (BOT_COMMAND_INVALID, REACTION_INVALID) and of the published
 * server.
 */
import type { ChatState } from './chats.ts';
import { integerOf, jsonOf } from './update-queue.ts';
import { badRequest, fine, textOf, type Answer, type Params } from './wire.ts';

type BotCommand = { readonly command: string; readonly description: string };
export type Reaction = {
  readonly chatId: number;
  readonly messageId: number;
  readonly emoji: string | null;
};

const commandsMax = 100;
/** Measured, since no page tells it: https://github.com/adolfousier/opencrabs/issues/1613. */
const bytesMax = 7_800;
/** Some of those that the page lists. */
const emojis = new Set(['👍', '👎', '❤', '🔥', '👏', '🤔', '👀', '🎉', '🤷', '💯']);

/** The commands of all chats in all languages: it does not know `scope` and `language_code`. */
export class CommandList {
  list: readonly BotCommand[] = [];

  set(params: Params): Answer {
    const given = listOf(params['commands']);
    if (given === null) return badRequest("can't parse commands JSON object");
    const bytes = Buffer.byteLength(JSON.stringify(given));
    if (given.length > commandsMax || bytes > bytesMax) return badRequest('BOT_COMMANDS_TOO_MUCH');
    const commands: BotCommand[] = [];
    for (const one of given as Partial<BotCommand>[]) {
      // "Can contain only lowercase English letters, digits and underscores"; a slash is cut off.
      const command = textOf(one?.command).trim().replace(/^\//, '');
      const description = textOf(one?.description).trim();
      if (!/^[a-z0-9_]{1,32}$/.test(command)) return badRequest('BOT_COMMAND_INVALID');
      if (description === '') return badRequest('command description must be non-empty');
      if (description.length > 256) return badRequest('BOT_COMMAND_DESCRIPTION_INVALID');
      commands.push({ command, description });
    }
    this.list = commands;
    return fine(true);
  }
}

/** "Bots can't use paid reactions", and a bot that is no administrator sets one at most. */
export function setMessageReaction(
  { chat, messages }: ChatState,
  params: Params,
  reactions: Reaction[],
): Answer {
  const given = listOf(params['reaction'] ?? []);
  if (given === null) return badRequest("can't parse reaction types JSON object");
  if (given.length > 1) return badRequest('REACTIONS_TOO_MANY');
  const [one] = given as { type?: unknown; emoji?: unknown }[];
  const emoji = one === undefined ? null : textOf(one.emoji);
  if (one !== undefined && (one.type !== 'emoji' || !emojis.has(emoji ?? ''))) {
    return badRequest('REACTION_INVALID');
  }
  const messageId = integerOf(params['message_id'], 0);
  if (!messages.has(messageId)) return badRequest('message to react not found');
  reactions.push({ chatId: chat.id, messageId, emoji });
  return fine(true);
}

function listOf(given: unknown): readonly unknown[] | null {
  const value = typeof given === 'string' ? jsonOf(given) : given;
  return Array.isArray(value) ? value : null;
}
