/**
 * The body of an HTTP error: `application/problem+json`.
 *
 * Format: RFC 9457, with `code` beside it, which is stable and meant for programs; `detail` is one
 * sentence for people.
 */
import { STATUS_CODES } from './node-http.ts';

export const problemType = 'application/problem+json';

/**
 * @param members what the problem says beside the usual
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
