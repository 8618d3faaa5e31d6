import type { HttpRequest } from '../http-client.ts';
import { unpacked, wantsUnpacked } from '../http-client/exchange.ts';

/** What undici gives a meaning of its own, or refuses. */
const special = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
const token = /^[\w!#$%&'*+.^`|~-]+$/;
const visible = /^[\t\x20-\x7e]*$/;

/**
 * A request as it goes to the socket, with the headers and the order that undici gives it.
 * @returns null: it is not plain, and is undici's to send or to refuse. So is every header whose
 * name or value is not ASCII, holds a line break, or says how the message is framed.
 * Format: RFC 9112, 3 and 6
 */
export function writeRequest(request: HttpRequest): string | null {
  const { method, url, headers, body } = request;
  const hasBody = body !== null && body.length > 0;
  if (url.protocol !== 'http:' || (hasBody && method !== 'POST')) return null;
  if (method === 'PUT' || method === 'PATCH' || body instanceof Uint8Array) return null;
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  head += 'connection: keep-alive\r\n';
  for (const name of Object.keys(headers)) {
    const value: unknown = headers[name];
    if (value === undefined) continue;
    if (typeof value !== 'string' || !visible.test(value)) return null;
    if (!token.test(name) || special.has(name.toLowerCase())) return null;
    head += `${name}: ${value}\r\n`;
  }
  if (wantsUnpacked(request)) head += `${unpacked.name}: ${unpacked.value}\r\n`;
  if (method !== 'POST') return `${head}\r\n`;
  if (!hasBody) return `${head}content-length: 0\r\n\r\n`;
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
