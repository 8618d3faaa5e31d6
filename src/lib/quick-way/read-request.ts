/**
 * Reads the one kind of request that goes the quick way: a plain POST whose head has come whole,
 * nothing before it and nothing behind it. Whatever is not exactly that is none of its business:
 * `node:http` then reads the same bytes, and says what is wrong with them. So this knows no errors,
 * and is stricter than the standard wherever strict costs nothing that clients send.
 *
 * Format: RFC 9112. What it takes, `node:http` must take in the same way: the same target, the same
 * headers and the same body, and not one byte more (test/chaos/own-listener.ts).
 */
import type { IncomingHttpHeaders } from 'node:http';

/** As `node:http` would give it. */
export type PlainRequest = {
  readonly method: 'POST';
  /** The path with the query. */
  readonly url: string;
  /** Each came once; their names are in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** What has come of it. */
  readonly body: Buffer;
  /** How much of the body has not come yet. */
  readonly missingBytes: number;
};

const headBytesMax = 4_096;
const headersMax = 64;

/**
 * Letters, digits and `-` in names, visible ASCII and spaces in values, none of them empty, one
 * space or none before a value, and every line ends with CR and LF.
 */
const plainLine = String.raw`POST (/[\w\-./~%?=&+:@!$,;]*) HTTP/1\.1\r\n`;
const plainHeader = String.raw`[A-Za-z0-9-]+: ?[\x21-\x7e][\x20-\x7e]*\r\n`;
const plainHead = new RegExp(`^${plainLine}(?:${plainHeader})+\r\n`);
const plainLength = /^[1-9][0-9]{0,8}$/;

/** What with one of these is more than plain, or is another value in `node:http`. */
const special = new Set([
  'expect',
  'http2-settings',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** @returns null when the bytes are anything but one plain request, from the first to the last */
export function readRequest(bytes: Buffer): PlainRequest | null {
  const text = bytes.toString('latin1', 0, Math.min(bytes.length, headBytesMax));
  const found = plainHead.exec(text);
  if (found === null) return null;
  const [head, url] = found as unknown as readonly [string, string];
  const headers = readHeaders(head, head.indexOf('\n') + 1);
  if (headers === null || headers.host === undefined) return null;
  const length = headers['content-length'] ?? '';
  const missingBytes = Number(length) - (bytes.length - head.length);
  if (!plainLength.test(length) || missingBytes < 0) return null;
  const { connection } = headers;
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return null;
  return { method: 'POST', url, headers, body: bytes.subarray(head.length), missingBytes };
}

/** @param from where the first of them begins */
function readHeaders(head: string, from: number): IncomingHttpHeaders | null {
  const headers: IncomingHttpHeaders = Object.create(null) as IncomingHttpHeaders;
  const end = head.length - 2;
  let left = headersMax;
  for (let at = from; at < end;) {
    const colon = head.indexOf(':', at);
    const lineEnd = head.indexOf('\r', colon);
    const name = head.slice(at, colon).toLowerCase();
    const value = head.charCodeAt(colon + 1) === space ? colon + 2 : colon + 1;
    if (--left < 0 || special.has(name) || name in headers) return null;
    if (head.charCodeAt(lineEnd - 1) === space) return null;
    headers[name] = head.slice(value, lineEnd);
    at = lineEnd + 2;
  }
  return headers;
}

const space = 0x20;
