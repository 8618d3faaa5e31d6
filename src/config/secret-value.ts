/**
 * A secret's name, and what its value may be. Nothing here imports anything, so that every other
 * file can use it, and a browser can run it.
 */

declare const brand: unique symbol;
/** The name of an environment variable. */
export type EnvName = string & { readonly [brand]: 'EnvName' };

/** Why a value cannot be used. Both texts show nothing of the value. `message` begins with "is". */
export type SecretFault = { readonly message: string; readonly remedy: string };

/** Windows keeps 2,560 bytes of UTF-16 for one credential: CRED_MAX_CREDENTIAL_BLOB_SIZE. */
export const secretCharactersMax = 1_280;

/** @returns what is wrong, as a sentence that shows nothing of the value; null: it can be kept */
export function faultOfSecretValue(value: string): string | null {
  if (value.trim() === '') return 'The value is empty.';
  if (/[\r\n\u2028\u2029]/.test(value)) return 'The value has more than one line; it can have one.';
  if (/[\p{Cc}--[\t]]/v.test(value)) {
    return 'The value has control characters; was it pasted as a whole?';
  }
  // It stands where bytes were no text, so this is not what was given.
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

/** What is wrong with a key, without a word of it; null: nothing. Pure: a browser can run it. */
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
