/** The bytes of an answer, the very ones that `node:http` would write in the same place. */
import { STATUS_CODES } from '../node-http.ts';

export type Answer = {
  readonly status: number;
  readonly type: string;
  /** Beside those of every answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: string;
};

/** @returns names and values in turn, as `writeHead` takes them */
export function headersOf({ type, headers, body }: Answer): string[] {
  const length = String(Buffer.byteLength(body));
  const all = ['content-type', type, 'content-length', length];
  for (const name in headers) all.push(name, headers[name]!);
  return all;
}

/**
 * @param keepAliveMs how long the connection may be idle afterwards
 * @param now milliseconds since 1970
 * @returns head and body, in one piece
 */
export function answerText(answer: Answer, keepAliveMs: number, now: number): string {
  const { status, type, headers, body } = answer;
  let more = '';
  for (const name in headers) more += `${name}: ${headers[name]}\r\n`;
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n` +
    `content-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}` +
    `Date: ${dateOf(now)}\r\nConnection: keep-alive\r\n` +
    `Keep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n\r\n${body}`
  );
}

let dateSecond = -1;
let date = '';

/** It changes once a second. */
function dateOf(now: number): string {
  const second = Math.floor(now / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    date = new Date(now).toUTCString();
  }
  return date;
}
