/**
 * Puts a reply into its chat: as a new message, as the new text of an existing message, or as a
 * file (https://core.telegram.org/bots/api#editmessagetext, #senddocument). If that fails, svc
 * sends it as a new message with its text.
 */
import type { Api } from 'grammy';
import type { Reply } from '../../domain/reply.ts';
import { beginningOf } from '../messenger/splitting.ts';
import type { BotApi, CallResult, Refused } from './bot-api.ts';
import type { Entity, Formatted } from './markdown.ts';
import type { Target } from './wire.ts';

/** A message of Telegram, by its number in its chat. */
type PlatformMessage = { readonly chat: number; readonly number: number };

export function messageText({ chat, number }: PlatformMessage): string {
  return JSON.stringify([chat, number]);
}

/** Names a message that a late edit may still change, since nobody saw how that edit ended. */
export function unsureText({ chat, number }: PlatformMessage): string {
  return JSON.stringify([chat, number, 'unsure']);
}

export function isUnsure(text: string): boolean {
  return text.endsWith(',"unsure"]');
}

/** @returns null for a text that this file did not write */
export function parseMessageText(text: string): PlatformMessage | null {
  const [, chat, number] = /^\[(-?\d{1,16}),(\d{1,16})(?:,"unsure")?\]$/.exec(text) ?? [];
  return chat === undefined ? null : { chat: Number(chat), number: Number(number) };
}

/** How a reply is sent; a refusal can change it. */
export type SendMode = {
  /** The number of the message that gets the text. */
  edits: number | null;
  file: Reply['file'] | null;
};

/** @param chat where the reply goes: svc edits no message of another chat */
export function sendModeOf({ replaces, file }: Reply, chat: number): SendMode {
  if (file !== undefined) return { edits: null, file };
  const message = replaces === undefined ? null : parseMessageText(replaces);
  return { edits: message?.chat === chat ? message.number : null, file: null };
}

/** The fields of a message's content. Links get no preview. */
export function contentOf({ text, entities }: Formatted) {
  return {
    text,
    link_preview_options: { is_disabled: true },
    ...(entities.length === 0 ? {} : { entities: [...entities] }),
  };
}

/**
 * The fields of a new message's place. Telegram sends it even if the message that it answers is
 * gone.
 */
export function placeFields({
  chat,
  thread,
  replyTo,
}: Pick<Target, 'chat' | 'thread' | 'replyTo'>) {
  return {
    chat_id: chat,
    ...(thread === null ? {} : { message_thread_id: thread }),
    ...(replyTo === null
      ? {}
      : { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }),
  };
}

/** The payload of a new message, with buttons that an edit takes, too. */
type Payload = Parameters<Api['raw']['sendMessage']>[0] & Pick<Edit, 'reply_markup'>;

/**
 * Sends or edits the message; `result` of `done` is that message. An edit can be repeated without
 * harm, so its faults report `sent: false`.
 */
export async function put(
  api: BotApi,
  { edits, file }: SendMode,
  payload: Payload,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CallResult> {
  if (file) {
    const { text, entities: _entities, link_preview_options: _preview, ...fields } = payload;
    return api.sendDocument(fields, { name: file.name, text }, timeoutMs, signal);
  }
  if (edits === null) return api.call('sendMessage', payload, timeoutMs, signal);
  const { message_thread_id: _thread, reply_parameters: _parameters, ...shown } = payload;
  const result = await editText(api, { ...shown, message_id: edits }, timeoutMs, signal);
  return result.kind === 'fault' ? { ...result, sent: false } : result;
}

type Edit = Parameters<Api['raw']['editMessageText']>[0];

/** Edits a message. If the message shows this text already, the edit is done. */
export async function editText(
  api: BotApi,
  edit: Edit,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CallResult> {
  const result = await api.call('editMessageText', edit, timeoutMs, signal);
  if (result.kind === 'refused' && /message is not modified/i.test(result.description)) {
    return { kind: 'done', result: { message_id: edit.message_id } };
  }
  return result;
}

/**
 * Statuses that refuse this one message. 401, 409 and 429 concern the bot; a status from 500 on is
 * Telegram's own trouble.
 */
export const messageRefusals: ReadonlySet<number> = new Set([400, 403, 404]);
const fileRefused = /document|file|too large|too big/i;

/** Turns a refused edit into a new message. @returns whether another try may help */
export function repairEdit(outgoing: SendMode, { status }: Refused): boolean {
  if (outgoing.edits === null || !messageRefusals.has(status)) return false;
  outgoing.edits = null;
  return true;
}

/** Turns a refused file into text. @returns whether another try may help */
export function repairSendMode(
  outgoing: SendMode & { text: string; source: string; entities: readonly Entity[] },
  { status, description, migrateToChat }: Refused,
  unitsMax: number,
): boolean {
  // The group became a new chat, which numbers its messages anew.
  if (migrateToChat !== null) {
    outgoing.edits = null;
    return false;
  }
  if (outgoing.file && (status === 413 || (status === 400 && fileRefused.test(description)))) {
    outgoing.file = null;
    const { code, note } = beginningOf(outgoing.text, unitsMax);
    outgoing.source = outgoing.text = note === null ? code : `${code}\n\n${note}`;
    outgoing.entities = [{ type: 'pre', offset: 0, length: code.length }];
    return true;
  }
  return false;
}

export function numberOf(result: unknown): number | null {
  const { message_id: number } = (result ?? {}) as { message_id?: unknown };
  return typeof number === 'number' ? number : null;
}

const deleteMs = 5_000;

/**
 * Tries once to delete the message that `messageText` names. @returns whether another try may help
 */
export async function remove(api: BotApi, message: string): Promise<boolean> {
  const known = parseMessageText(message);
  if (known === null) return false;
  const result = await deleteMessage(api, known, new AbortController().signal);
  if (result.kind === 'refused') return result.status === 429 || result.status >= 500;
  return result.kind === 'fault';
}

export function deleteMessage(
  api: BotApi,
  { chat, number }: PlatformMessage,
  signal: AbortSignal,
): Promise<CallResult> {
  return api.call('deleteMessage', { chat_id: chat, message_id: number }, deleteMs, signal);
}
