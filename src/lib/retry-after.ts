/**
 * How long a `Retry-After` header asks us to wait.
 * Format: RFC 9110, 10.2.3: seconds, or a date.
 * @param now milliseconds since 1970
 * @returns milliseconds, at most `mostMs`; null when there is none, or none that can be read
 */
export function retryAfterMs(
  header: string | string[] | undefined,
  now: number,
  mostMs: number,
): number | null {
  const text = (Array.isArray(header) ? header[0] : header)?.trim();
  if (text === undefined || text === '') return null;
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? null : Math.min(mostMs, Math.max(0, ms));
}
