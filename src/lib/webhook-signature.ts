/**
 * Signatures of webhooks. Format: Standard Webhooks (https://www.standardwebhooks.com): `v1,` and
 * the base64 of an HMAC-SHA256 over id, timestamp and body, joined by full stops.
 */
import { nodeCrypto } from './node-http.ts';

/** The bytes of a written key: a prefix that ends with an underscore, and base64. */
export function signingKeyBytes(written: string): Uint8Array {
  return Buffer.from(written.slice(written.indexOf('_') + 1), 'base64');
}

/** The input of a signature. `timestamp`: seconds since 1970, in decimal. */
export type SignedWebhook = {
  readonly id: string;
  readonly timestamp: string;
  readonly body: string;
};

export function signatureOf({ id, timestamp, body }: SignedWebhook, key: Uint8Array): string {
  const { createHmac } = nodeCrypto();
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`, 'utf8');
  return `v1,${hmac.digest('base64')}`;
}

/** How far a timestamp may be from now, before and after. */
const toleranceMs = 300_000;

/**
 * Whether one of the signatures is right, and recent.
 * @param signatures one or more, separated by spaces
 * @param now milliseconds since 1970
 */
export function isSigned(
  webhook: SignedWebhook,
  signatures: string,
  key: Uint8Array,
  now: number,
): boolean {
  if (!/^\d{1,12}$/.test(webhook.timestamp)) return false;
  if (Math.abs(Number(webhook.timestamp) * 1_000 - now) > toleranceMs) return false;
  const expected = Buffer.from(signatureOf(webhook, key));
  return signatures.split(' ').some((one) => {
    const given = Buffer.from(one);
    return given.length === expected.length && nodeCrypto().timingSafeEqual(given, expected);
  });
}
