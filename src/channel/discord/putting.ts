/**
 * How a reply gets into its channel: as a new message, as the new text of a message that is there,
 * or as a file. Where that cannot be done, it is sent as a new message with its text.
 *
 * Format: https://discord.com/developers/docs/resources/message#create-message, #edit-message, and
 * /reference#uploading-files
 */
import type { RESTPostAPIChannelMessageJSONBody } from 'discord-api-types/v10';
import type { Reply } from '../../domain/reply.ts';
import { multipart } from '../../lib/multipart.ts';
import { codeAsMarkdown } from '../code-files.ts';
import type { Api, ApiResult } from './api.ts';
import { fieldsOf, idOf } from './fields.ts';
import { textUnitsMax } from './wire.ts';

type Body = RESTPostAPIChannelMessageJSONBody;

/** Of the platform, in its channel. */
export type PlatformMessage = { readonly place: string; readonly id: string };

export function messageText({ place, id }: PlatformMessage): string {
  return `${place}/${id}`;
}

/** @returns null for what this file did not write */
export function parseMessageText(text: string): PlatformMessage | null {
  const [place, id, ...rest] = text.split('/').map(idOf);
  return place && id && rest.length === 0 ? { place, id } : null;
}

export function idIn(result: unknown): string | null {
  return idOf(fieldsOf(result)['id']);
}

/** Other refusals are of the bot, whatever it does, or the platform's own trouble. */
const refusesEdit: ReadonlySet<number> = new Set([400, 403, 404]);
const missingPermissions = 50_013;

/** `ok`: the body is the message. `isNew`: it was not there before. */
type Put = { readonly result: ApiResult; readonly isNew: boolean };

export async function put(
  api: Api,
  place: string,
  { replaces, file }: Reply,
  body: Body,
  signal: AbortSignal,
): Promise<Put> {
  const route = `/channels/${place}/messages` as const;
  if (file !== undefined) {
    return { result: await putFile(api, 'POST', route, file.name, body, signal), isNew: true };
  }
  const message = replaces === undefined ? null : parseMessageText(replaces);
  if (message?.place === place) {
    const edited = await edit(api, message, body, signal);
    const isOver = edited.kind !== 'refused' || !refusesEdit.has(edited.status);
    if (isOver) return { result: edited, isNew: false };
  }
  return { result: await api.post(route, body, signal), isNew: true };
}

/** What an edit may have done a second edit does again: it never makes a second message. */
export async function edit(
  api: Api,
  { place, id }: PlatformMessage,
  { nonce: _nonce, enforce_nonce: _enforced, message_reference: _reference, ...shown }: Body,
  signal: AbortSignal,
): Promise<ApiResult> {
  // What a message has and an edit does not name stays.
  const whole = { components: [], attachments: [], ...shown };
  const result = await api.patch(`/channels/${place}/messages/${id}`, whole, signal);
  return result.kind === 'fault' ? { ...result, sent: false } : result;
}

/** The text of the body as a file; where the platform takes none, as code. */
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

/** Too large, malformed, or the bot may write but not attach files. */
function refusesFile({ status, code }: Extract<ApiResult, { kind: 'refused' }>): boolean {
  return status === 413 || status === 400 || code === missingPermissions;
}

/** Tries once to take away what `messageText` names. @returns whether another try may help */
export async function remove(api: Api, message: string): Promise<boolean> {
  const known = parseMessageText(message);
  if (known === null) return false;
  const result = await api.delete(`/channels/${known.place}/messages/${known.id}`);
  if (result.kind === 'refused') return result.status === 429 || result.status >= 500;
  return result.kind === 'fault';
}
