/**
 * The body of an HTTP error: `application/problem+json`.
 *
 * Format: RFC 9457, with an additional `code`, which is stable and for programs. `detail` is one
 * sentence for people.
 */
import { STATUS_CODES } from './node-http.ts';

export const problemType = 'application/problem+json';

/**
 * @param members additional members of the problem
 * @returns the JSON text of the body
 */
export function problemText(
  status: number,
  code: string,
  detail: string,
  members: Readonly<Record<string, unknown>> = {},
): string {
  const title = STATUS_CODES[status] ?? 'Error';
  return JSON.stringify({ type: 'about:blank', title, status, code, detail, ...members });
}
