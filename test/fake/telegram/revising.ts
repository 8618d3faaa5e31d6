/**
 * Edits and deletions of messages by a bot. Pages:
 * https://core.telegram.org/bots/api#editmessagetext, #deletemessage. Refusals use the words of the
 * published server: Client.cpp of tdlib/telegram-bot-api, and tdlib/td behind it.
 */
import type { ChatState } from './chats.ts';
import { readKeyboard } from './presses.ts';
import { fixText, readText } from './text.ts';
import { integerOf } from './update-queue.ts';
import { badRequest, fine, type Answer, type Message, type Params, type User } from './wire.ts';

/** Without `reply_markup` the keyboard disappears. */
export function editMessageText(
  { messages }: ChatState,
  params: Params,
  bot: User,
  now: number,
): Answer {
  const read = readText(params);
  if ('ok' in read) return read;
  const keyboard = readKeyboard(params);
  if (keyboard !== undefined && 'ok' in keyboard) return keyboard;
  const id = integerOf(params['message_id'], 0);
  if (id <= 0) return badRequest('message identifier is not specified');
  const before = messages.get(id);
  if (before === undefined) return badRequest('message to edit not found');
  if (before.from?.id !== bot.id) return badRequest("message can't be edited");
  if (before.text === undefined) return badRequest('there is no text in the message to edit');
  const fixed = fixText(read);
  if ('ok' in fixed) return fixed;
  const { text, entities } = fixed;
  const shown = (message: Partial<Message>): string =>
    JSON.stringify([message.text, message.entities ?? [], message['reply_markup'] ?? null]);
  if (shown(before) === shown({ text, entities, reply_markup: keyboard })) {
    return badRequest(
      'message is not modified: specified new message content and reply markup are exactly the ' +
        'same as a current content and reply markup of the message',
    );
  }
  const { entities: _entities, reply_markup: _markup, ...rest } = before;
  const edited = {
    ...rest,
    edit_date: Math.floor(now / 1_000),
    text,
    ...(entities.length > 0 && { entities }),
    ...(keyboard !== undefined && { reply_markup: keyboard }),
  } as Message;
  messages.set(id, edited);
  return fine(edited);
}

/** In groups a bot that is no administrator deletes only its own messages. */
export function deleteMessage({ chat, messages }: ChatState, params: Params, bot: User): Answer {
  const id = integerOf(params['message_id'], 0);
  if (id <= 0) return badRequest('message identifier is not specified');
  const message = messages.get(id);
  if (message === undefined) return badRequest('message to delete not found');
  const isOwn = message.from?.id === bot.id;
  if (!isOwn && chat.type !== 'private') return badRequest("message can't be deleted");
  messages.delete(id);
  return fine(true);
}
