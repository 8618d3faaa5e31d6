/**
 * HTTP/1.1 on bare sockets, only as much as load, receiver and model need. So they take little from
 * the machine that runs the service under test.
 */
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** `start` is where the head begins, `body` where the body does, `end` one past it. */
export type Part = (bytes: Buffer, start: number, body: number, end: number) => void;

const headEnd = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('\r\n0\r\n\r\n');

/** @returns a function that takes the chunks of a socket and passes on every whole HTTP message */
export function frames(each: Part): (chunk: Buffer) => void {
  let rest: Buffer | null = null;
  return (chunk) => {
    const bytes: Buffer = rest === null ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    while (start < bytes.length) {
      const head = bytes.indexOf(headEnd, start);
      const end = head < 0 ? -1 : endOf(bytes, start, head);
      if (end < 0 || end > bytes.length) break;
      each(bytes, start, head + 4, end);
      start = end;
    }
    rest = start === bytes.length ? null : bytes.subarray(start);
  };
}

/** One past the message whose head ends at `head`; -1 while that is unknown. */
function endOf(bytes: Buffer, start: number, head: number): number {
  const text = bytes.toString('latin1', start, head);
  const length = /\r\ncontent-length: *(\d+)/i.exec(text);
  if (length !== null) return head + 4 + Number(length[1]);
  if (!/\r\ntransfer-encoding: *chunked/i.test(text)) return head + 4;
  const last = bytes.indexOf(lastChunk, head + 2);
  return last < 0 ? -1 : last + lastChunk.length;
}

/** A server on a free port of 127.0.0.1; `serve` gets every request with its socket. */
export async function listen(
  serve: (socket: Socket, bytes: Buffer, start: number, body: number, end: number) => void,
): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.on(
      'data',
      frames((bytes, start, body, end) => serve(socket, bytes, start, body, end)),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen({ port: 0, host: '127.0.0.1', backlog: 2048 }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Microseconds on the clock that all processes of this machine share. */
export function nowUs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + Math.floor(nanoseconds / 1e3);
}

/**
 * The mark at the beginning of a message's text, which the model's answer repeats: `#`, the
 * message's number, an instruction to the model, and two times that the model fills in.
 */
export const markDigits = 10;
export const timeDigits = 16;
export const hash = 35;

export function digits(value: number, count: number): string {
  return String(value).padStart(count, '0');
}

export function readDigits(bytes: Buffer, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at++) value = value * 10 + bytes[at]! - 48;
  return value;
}
