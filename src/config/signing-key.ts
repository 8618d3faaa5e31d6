/**
 * A key of Standard Webhooks (https://www.standardwebhooks.com): `whsec_`, then base64 of 24 to 64
 * bytes.
 */
const signingKeyPrefix = 'whsec_';
const [bytesMin, bytesMax] = [24, 64];
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** What is wrong with a key, without a word of it; null: nothing. Pure: a browser can run it. */
export function signingKeyFault(value: string): { message: string; remedy: string } | null {
  const key = value.slice(signingKeyPrefix.length);
  const padding = key.endsWith('==') ? 2 : Number(key.endsWith('='));
  const bytes = (key.length / 4) * 3 - padding;
  const isKey = value.startsWith(signingKeyPrefix) && base64.test(key);
  if (isKey && bytes >= bytesMin && bytes <= bytesMax) return null;
  const shape = `${signingKeyPrefix}, then base64 of ${bytesMin} to ${bytesMax} bytes`;
  const remedy = `Set one such as \`echo "${signingKeyPrefix}$(openssl rand -base64 32)"\` makes.`;
  return { message: `is no signing key: ${shape}`, remedy };
}
