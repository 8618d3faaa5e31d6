/**
 * The name of a secret, and checks of its value. This file imports nothing, so that every other
 * file can use it, and a browser can run it.
 */

declare const brand: unique symbol;
/** The name of an environment variable. */
export type EnvName = string & { readonly [brand]: 'EnvName' };

/**
 * Why a value cannot be used. Both texts show nothing of the value. `message` begins with a verb:
 * "is …".
 */
export type SecretFault = { readonly message: string; readonly remedy: string };

/** Windows stores 2,560 bytes of UTF-16 for one credential: CRED_MAX_CREDENTIAL_BLOB_SIZE. */
export const secretCharactersMax = 1_280;

/** @returns why no store can keep the value, without showing any of it; null: a store can */
export function faultOfSecretValue(value: string): string | null {
  if (value.trim() === '') return 'The value is empty.';
  if (/[\r\n\u2028\u2029]/.test(value)) return 'The value has more than one line; it can have one.';
  if (/[\p{Cc}--[\t]]/v.test(value)) {
    return 'The value has control characters; was it pasted as a whole?';
  }
  // Decoding puts this character where bytes are not text, so this is not the original value.
  if (value.includes('\uFFFD')) return 'The value is not UTF-8 text.';
  if (!value.isWellFormed()) return 'The value is not well-formed Unicode text.';
  if (value.length > secretCharactersMax) {
    return `The value has more than ${secretCharactersMax.toLocaleString('en')} characters.`;
  }
  return null;
}

/**
 * A key of Standard Webhooks (https://www.standardwebhooks.com): `whsec_`, then base64 of 24 to 64
 * bytes.
 */
const signingKeyPrefix = 'whsec_';
const [bytesMin, bytesMax] = [24, 64];
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** @returns why the value is not a signing key; null: it is one */
export function signingKeyFault(value: string): SecretFault | null {
  const key = value.slice(signingKeyPrefix.length);
  const padding = key.endsWith('==') ? 2 : Number(key.endsWith('='));
  const bytes = (key.length / 4) * 3 - padding;
  const isKey = value.startsWith(signingKeyPrefix) && base64.test(key);
  if (isKey && bytes >= bytesMin && bytes <= bytesMax) return null;
  const shape = `${signingKeyPrefix}, then base64 of ${bytesMin} to ${bytesMax} bytes`;
  const remedy = `Set one such as \`echo "${signingKeyPrefix}$(openssl rand -base64 32)"\` makes.`;
  return { message: `is no signing key: ${shape}`, remedy };
}
