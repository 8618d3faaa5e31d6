/**
 * Puts a reply into its channel: as a new message, as the new text of an existing message, or as a
 * file. If that fails, svc sends it as a new message with its text.
 *
 * Format: https://discord.com/developers/docs/resources/message#create-message, #edit-message, and
 * /reference#uploading-files
 */
import type { RESTPostAPIChannelMessageJSONBody } from 'discord-api-types/v10';
import type { Reply } from '../../domain/reply.ts';
import { multipart } from '../../lib/pinned-client.ts';
import { codeAsMarkdown } from '../messenger/splitting.ts';
import { continuationMark } from '../messenger/growing-message.ts';
import type { Api, ApiResult } from './api.ts';
import { fieldsOf, idOf, listOf } from './fields.ts';
import { nonceOf, textUnitsMax } from './wire.ts';

type Body = RESTPostAPIChannelMessageJSONBody;

/** A message of the platform, in its channel. */
export type PlatformMessage = { readonly place: string; readonly id: string };

const unsure = '/unsure';

export function messageText({ place, id }: PlatformMessage): string {
  return `${place}/${id}`;
}

/** Names a message that a late edit may still change, since nobody saw how that edit ended. */
export function unsureText(message: PlatformMessage): string {
  return `${messageText(message)}${unsure}`;
}

export function isUnsure(text: string): boolean {
  return text.endsWith(unsure);
}

/** @returns null for a text that this file did not write */
export function parseMessageText(text: string): PlatformMessage | null {
  const named = isUnsure(text) ? text.slice(0, -unsure.length) : text;
  const [place, id, ...rest] = named.split('/').map(idOf);
  return place && id && rest.length === 0 ? { place, id } : null;
}

/** A preview that may exist: the platform answers its nonce with that message. */
type Unseen = { readonly place: string; readonly nonce: string };

export function unseenText({ place, nonce }: Unseen): string {
  return `${place}/${nonce}`;
}

/** @returns null for a text that `unseenText` did not write */
export function parseUnseenText(text: string): Unseen | null {
  const [, place, nonce] = /^(\d{1,20})\/(p[\w-]{1,24})$/.exec(text) ?? [];
  return place === undefined ? null : { place, nonce: nonce! };
}

export function idIn(result: unknown): string | null {
  return idOf(fieldsOf(result)['id']);
}

/**
 * Statuses that refuse this one edit. Others concern the bot, or are the platform's own trouble.
 */
const refusesEdit: ReadonlySet<number> = new Set([400, 403, 404]);
const missingPermissions = 50_013;

/** `result` of kind `ok`: the body is the message. `isNew`: the message did not exist before. */
type Put = { readonly result: ApiResult; readonly isNew: boolean };

export async function put(
  api: Api,
  place: string,
  reply: Reply,
  body: Body,
  signal: AbortSignal,
): Promise<Put> {
  const { replaces, file } = reply;
  const unseen = replaces === undefined ? null : parseUnseenText(replaces);
  if (unseen?.place === place) return putOverUnseen(api, unseen, reply, body, signal);
  const message = replaces === undefined ? null : parseMessageText(replaces);
  if (message?.place !== place || file !== undefined) return create(api, place, file, body, signal);
  return editOrCreate(api, message, body, signal);
}

/**
 * Sends a new message with the preview's nonce. If a message with that nonce exists, the platform
 * returns it: the preview, this reply from an earlier try, or another reply to the same question.
 */
async function putOverUnseen(
  api: Api,
  { place, nonce }: Unseen,
  { file }: Reply,
  body: Body,
  signal: AbortSignal,
): Promise<Put> {
  const made = await create(api, place, file, { ...body, ...nonceOf(nonce) }, signal);
  const { result } = made;
  const id = result.kind === 'ok' ? idIn(result.body) : null;
  if (result.kind !== 'ok' || id === null || alreadyShows(result.body, file, body)) return made;
  const message = { place, id };
  if (file === undefined) return editOrCreate(api, message, body, signal);
  await remove(api, messageText(message));
  return create(api, place, file, body, signal);
}

function alreadyShows(made: unknown, file: Reply['file'], { content = '' }: Body): boolean {
  const { content: shown, attachments } = fieldsOf(made);
  if (file === undefined) return shown === content.trim() && !content.endsWith(continuationMark);
  if (shown === codeAsMarkdown(content, textUnitsMax).trim()) return true;
  return listOf(attachments).some((one) => fieldsOf(one)['filename'] === file.name);
}

async function editOrCreate(
  api: Api,
  message: PlatformMessage,
  body: Body,
  signal: AbortSignal,
): Promise<Put> {
  const edited = await edit(api, message, body, signal);
  if (isRefused(edited)) return create(api, message.place, undefined, body, signal);
  return { result: edited, isNew: false };
}

function isRefused(result: ApiResult): boolean {
  return result.kind === 'refused' && refusesEdit.has(result.status);
}

async function create(
  api: Api,
  place: string,
  file: Reply['file'],
  body: Body,
  signal: AbortSignal,
): Promise<Put> {
  const route = `/channels/${place}/messages` as const;
  const creating =
    file === undefined
      ? api.post(route, body, signal)
      : putFile(api, 'POST', route, file.name, body, signal);
  return { result: await creating, isNew: true };
}

/** An edit can be repeated without harm, so its faults report `sent: false`. */
async function edit(
  api: Api,
  { place, id }: PlatformMessage,
  { nonce: _nonce, enforce_nonce: _enforced, message_reference: _reference, ...shown }: Body,
  signal: AbortSignal,
): Promise<ApiResult> {
  // Parts of a message that an edit does not name stay.
  const fullBody = { components: [], attachments: [], ...shown };
  const result = await api.patch(`/channels/${place}/messages/${id}`, fullBody, signal);
  return result.kind === 'fault' ? { ...result, sent: false } : result;
}

/** Sends the body's text as a file, or as code if the platform refuses the file. */
export async function putFile(
  api: Api,
  method: 'POST' | 'PATCH',
  route: `/${string}`,
  name: string,
  { content = '', ...body }: Body,
  signal: AbortSignal,
): Promise<ApiResult> {
  const attachments = [{ id: 0, filename: name }];
  const form = multipart([
    { name: 'payload_json', value: JSON.stringify({ ...body, attachments }) },
    { name: 'files[0]', value: content, file: { name, type: 'text/plain; charset=utf-8' } },
  ]);
  const sent = await api.sendForm(method, route, form, signal);
  if (sent.kind !== 'refused' || !refusesFile(sent)) return sent;
  const asCode = { ...body, content: codeAsMarkdown(content, textUnitsMax) };
  return method === 'POST' ? api.post(route, asCode, signal) : api.patch(route, asCode, signal);
}

/** The file is too large or malformed, or the bot may write but not attach files. */
function refusesFile({ status, code }: Extract<ApiResult, { kind: 'refused' }>): boolean {
  return status === 413 || status === 400 || code === missingPermissions;
}

const deleteMs = 5_000;

/**
 * Tries once to delete the message that `messageText` names. @returns whether another try may help
 */
export async function remove(api: Api, message: string): Promise<boolean> {
  const known = parseMessageText(message);
  if (known === null) return false;
  const result = await deleteMessage(api, known);
  if (result.kind === 'refused') return result.status === 429 || result.status >= 500;
  return result.kind === 'fault';
}

/**
 * Deletes the message that the reply replaces, if a late edit may still change it. The reply is
 * then sent as a new message. If the message cannot be deleted, svc edits it like any other. Never
 * throws.
 * @returns the reply to send; or a result if it cannot be sent now
 */
export async function withoutUnsure(
  api: Api,
  reply: Reply,
): Promise<{ readonly kind: 'ready'; readonly reply: Reply } | Exclude<ApiResult, { kind: 'ok' }>> {
  const { replaces, ...rest } = reply;
  const message = replaces !== undefined && isUnsure(replaces) ? parseMessageText(replaces) : null;
  if (message === null) return { kind: 'ready', reply };
  const result = await deleteMessage(api, message);
  if (result.kind === 'ok') return { kind: 'ready', reply: rest };
  if (result.kind === 'fault') return { ...result, sent: false };
  if (!isRefused(result)) return result;
  return { kind: 'ready', reply: { ...reply, replaces: messageText(message) } };
}

function deleteMessage(api: Api, { place, id }: PlatformMessage): Promise<ApiResult> {
  const route = `/channels/${place}/messages/${id}` as const;
  return api.delete(route, AbortSignal.timeout(deleteMs));
}
