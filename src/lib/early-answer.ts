/**
 * Short answers of a listener's handlers. An answer may go out before the body of its request has
 * come. The rest of the body is then discarded for a while, so a client that writes everything
 * before it reads still gets the answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Deadlines } from './deadlines.ts';

export type ShortAnswer = {
  readonly status: number;
  readonly type: string;
  /** In addition to those of every answer. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: string;
};

export type Exchange = { readonly request: IncomingMessage; readonly response: ServerResponse };

type BodyState = {
  readonly deadlines: Deadlines;
  /** The connection stays open only if the declared length is within this limit. */
  readonly bodyBytesMax: number;
  /** How much of the body has come already. */
  readonly bytes: number;
};

const discardLimits = { bytesMax: 8 * 1_048_576, ms: 5_000 };

export function sendAnswer(response: ServerResponse, answer: ShortAnswer): void {
  response.writeHead(answer.status, headersOf(answer)).end(answer.body);
}

/** The connection closes when the response ends, and that waits for the rest of the body. */
export function answerEarly(
  { request, response }: Exchange,
  answer: ShortAnswer,
  { deadlines, bodyBytesMax, bytes: already }: BodyState,
): void {
  if (request.complete || !hasBody(request)) return sendAnswer(response, answer);
  const headers = headersOf(answer);
  if (!isShort(request, bodyBytesMax)) headers.push('connection', 'close');
  response.writeHead(answer.status, headers).write(answer.body);
  let bytes = already;
  const deadline = deadlines.after(discardLimits.ms, () => request.destroy());
  request.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > discardLimits.bytesMax) request.destroy();
  });
  request.on('end', () => response.end());
  request.on('close', () => deadline.cancel());
}

/** @returns names and values in turn, as `writeHead` takes them */
function headersOf({ type, headers, body }: ShortAnswer): string[] {
  const length = String(Buffer.byteLength(body));
  const all = ['content-type', type, 'content-length', length];
  for (const name in headers) all.push(name, headers[name]!);
  return all;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
}

/** Whether the body's length is known, and small enough to keep the connection. */
function isShort({ headers }: IncomingMessage, bodyBytesMax: number): boolean {
  return headers.expect === undefined && Number(headers['content-length']) <= bodyBytesMax;
}
