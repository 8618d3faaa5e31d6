/**
 * All refusals of the webhook: status, stable code, and one sentence with the remedy. The body is a
 * problem of RFC 9457.
 */
import { bodyTooLarge, sharedRefusals, type Refusal } from '../refusals.ts';

export const bodyBytesMax = 1_048_576;

export const refusals = {
  ...sharedRefusals,
  bodyTooLarge: bodyTooLarge(bodyBytesMax),
  notUtf8: { status: 400, code: 'invalid_json', detail: 'The body is not valid UTF-8.' },
  notFound: {
    status: 404,
    code: 'not_found',
    detail: 'There is nothing at this path; messages are POSTed to the configured one.',
  },
  unauthorized: {
    status: 401,
    code: 'unauthorized',
    detail: 'Send the header "Authorization: Bearer <secret>" with the secret of this channel.',
    headers: { 'www-authenticate': 'Bearer' },
  },
  unsupportedMediaType: {
    status: 415,
    code: 'unsupported_media_type',
    detail: 'Send the header "Content-Type: application/json"; the charset can only be utf-8.',
  },
} as const satisfies Record<string, Refusal>;

/** @param header the header that had the id */
export function idReused(header: string): Refusal {
  const detail =
    `The ${header} of this request was that of another message of the same sender in this ` +
    'conversation, so this message was not taken. Give every message an id of its own, and send ' +
    'a message again with the fields that it had.';
  return { status: 409, code: 'id_reused', detail };
}
