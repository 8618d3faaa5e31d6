/**
 * Buttons under messages of the fake, and presses of them. Pages:
 * https://core.telegram.org/bots/api#inlinekeyboardmarkup, #callbackquery, #answercallbackquery,
 * #editmessagereplymarkup. Refusals use the words of the published server (Client.cpp of
 * tdlib/telegram-bot-api) and of the platform behind it.
 */
import { integerOf, jsonOf } from './update-queue.ts';
import {
  badRequest,
  fine,
  textOf,
  type Answer,
  type Message,
  type Params,
  type Refusal,
  type User,
} from './wire.ts';

export type Button = { readonly text: string; readonly callback_data: string };
export type Keyboard = { readonly inline_keyboard: readonly (readonly Button[])[] };

/** "Data to be sent in a callback query …, 1-64 bytes" */
const dataBytesMax = 64;
/** How long a press may wait for its answer; the page gives no number. */
const answerMs = 15_000;

export type Press = {
  readonly id: string;
  readonly from: User;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The answer that the person gets; null: none yet, so that the press waits. */
  answer: Params | null;
};

/** @returns undefined: the call has no keyboard */
export function readKeyboard(params: Params): Keyboard | undefined | Refusal {
  const given = params['reply_markup'];
  if (given === undefined || given === '') return undefined;
  const markup = typeof given === 'string' ? jsonOf(given) : given;
  const rows = (markup as { inline_keyboard?: unknown } | null | undefined)?.inline_keyboard;
  if (!Array.isArray(rows) || !rows.every(Array.isArray)) {
    return badRequest("can't parse reply keyboard markup JSON object");
  }
  const buttons: Button[][] = [];
  for (const row of rows as { text?: unknown; callback_data?: unknown }[][]) {
    const read: Button[] = [];
    for (const { text, callback_data: data } of row) {
      if (textOf(text) === '') {
        return badRequest('can\'t parse inline keyboard button: Can\'t find field "text"');
      }
      if (textOf(data) === '') {
        return badRequest('Text buttons are unallowed in the inline keyboard');
      }
      if (Buffer.byteLength(textOf(data)) > dataBytesMax) return badRequest('BUTTON_DATA_INVALID');
      read.push({ text: textOf(text), callback_data: textOf(data) });
    }
    if (read.length > 0) buttons.push(read);
  }
  return buttons.length === 0 ? undefined : { inline_keyboard: buttons };
}

/** A person presses the button with that label, on the message that they see. */
export function pressOn(message: Message, label: string, from: User, at: number) {
  const { inline_keyboard: rows } = (message['reply_markup'] ?? {
    inline_keyboard: [],
  }) as Keyboard;
  const button = rows.flat().find(({ text }) => text === label);
  if (button === undefined) throw new Error(`There is no button ${label} under that message.`);
  const id = String(4_382_000_000_000_000_000n + BigInt(Math.floor(Math.random() * 1e15)));
  const press: Press = { id, from, at, answer: null };
  const { callback_data: data } = button;
  return { press, query: { id, from, message, chat_instance: '-42', data } };
}

export function answerCallbackQuery(
  presses: readonly Press[],
  params: Params,
  now: number,
): Answer {
  const press = presses.find(({ id }) => id === textOf(params['callback_query_id']));
  if (press === undefined || press.answer !== null || now - press.at > answerMs) {
    return badRequest('query is too old and response timeout expired or query ID is invalid');
  }
  press.answer = params;
  return fine(true);
}

/** Without `reply_markup` the keyboard disappears. */
export function editMessageReplyMarkup(
  messages: Map<number, Message>,
  params: Params,
  bot: User,
): Answer {
  const keyboard = readKeyboard(params);
  if (keyboard !== undefined && 'ok' in keyboard) return keyboard;
  const message = messages.get(integerOf(params['message_id'], 0));
  if (message === undefined) return badRequest('message to edit not found');
  if (message.from?.id !== bot.id) return badRequest("message can't be edited");
  const { reply_markup: before, ...rest } = message;
  if (JSON.stringify(before) === JSON.stringify(keyboard)) {
    return badRequest(
      'message is not modified: specified new message content and reply markup are exactly the ' +
        'same as a current content and reply markup of the message',
    );
  }
  const edited = { ...rest, ...(keyboard !== undefined && { reply_markup: keyboard }) } as Message;
  messages.set(message.message_id, edited);
  return fine(edited);
}
