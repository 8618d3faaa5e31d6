/**
 * How a resend is known: by an id that the sender puts into a header. Many senders may post here,
 * so an id counts within its conversation and sender alone, and a message that says something else
 * under an id of before is no resend.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Inbound } from '../../domain/message.ts';
import { nodeCrypto } from '../../lib/node-crypto.ts';
import type { Refusal } from './refusals.ts';
import type { WireMessage } from './wire.ts';

const idCharactersMax = 256;

export type ResendId = { readonly header: string; readonly id: string };

/** The first of two headers that has an id; null: none has; a refusal: it is too long. */
export function resendIdOf(headers: IncomingHttpHeaders): ResendId | Refusal | null {
  for (const header of ['webhook-id', 'idempotency-key']) {
    const id = headers[header];
    if (typeof id !== 'string' || id === '') continue;
    if (id.length <= idCharactersMax) return { header, id };
    const detail = `The header ${header} has more than ${idCharactersMax} characters.`;
    return { status: 400, code: 'invalid_field', detail };
  }
  return null;
}

/**
 * The key begins with the id: ids that rise with time then lie together on the disk. Of all else
 * there are digests, so that what is kept is short, and tells nothing of what was said.
 */
export function resendKeyOf(
  { conversation, sender, text, media }: WireMessage,
  id: string,
): Pick<Inbound, 'dedupeKey' | 'keyCheck'> {
  const dedupeKey = `${id} ${digest([conversation, sender.id])}`;
  const said = [dedupeKey, sender.name, text, media?.reference ?? null, media?.type ?? null];
  return { dedupeKey, keyCheck: { fingerprint: digest(said), formerKey: id } };
}

/** 128 bits of SHA-256. */
function digest(parts: readonly (string | null)[]): string {
  return nodeCrypto().hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 22);
}
