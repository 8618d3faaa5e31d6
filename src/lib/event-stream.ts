/**
 * One connection to a stream of server-sent events, from its beginning to its end. The caller
 * reconnects. Plain HTTP; the client follows no redirect, and reads no proxy from the environment.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import type { IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import { get } from './node-http.ts';

export type StreamRequest = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The stream continues after this event; null: it begins with the next one. */
  readonly lastId: string | null;
  /** The client closes the connection if no byte, not even a comment, comes for this time. */
  readonly silenceMs: number;
};

export type StreamEvent = { readonly kind: string; readonly data: string };

/** `lastId` is the id to continue from. If no event came, it is the id of the request. */
export type StreamEnd = {
  /**
   * `refused`: the server sent another answer. `lost`: no answer came, or it broke off, or the
   * other side ended it.
   */
  readonly kind: 'refused' | 'lost' | 'cancelled';
  /** null: no answer came. */
  readonly status: number | null;
  /** The body of a refusal; otherwise empty. */
  readonly body: string;
  readonly lastId: string | null;
};

/**
 * svc begins its stream with the id to continue from, before any event. The parser reports only the
 * ids of events.
 */
const openingPattern = /^retry: \d+\nid: (.+)\n\n/;
const openingCharactersMax = 256;
const eventCharactersMax = 1024 * 1024;
const refusalBytesMax = 65_536;

/**
 * @param take gets each event; if it throws, the stream ends and the call throws the same error
 * @param opened called once the stream has begun
 */
export async function readEventStream(
  { url, headers, lastId: from, silenceMs }: StreamRequest,
  signal: AbortSignal,
  take: (event: StreamEvent) => void,
  opened: () => void,
): Promise<StreamEnd> {
  let head = '';
  let eventId: string | undefined;
  let status: number | null = null;
  const end = (kind: StreamEnd['kind'], body = ''): StreamEnd => {
    const lastId = eventId ?? openingPattern.exec(head)?.[1] ?? from;
    return { kind, status, body, lastId };
  };
  const faults: unknown[] = [];
  const parser = createParser({
    maxBufferSize: eventCharactersMax,
    onEvent: ({ id, event, data }) => {
      eventId = id ?? eventId;
      try {
        if (faults.length === 0) take({ kind: event ?? 'message', data });
      } catch (fault) {
        faults.push(fault);
      }
    },
    onError: () => {},
  });
  try {
    const resume = from === null ? {} : { 'last-event-id': from };
    const requestHeaders = { accept: 'text/event-stream', ...headers, ...resume };
    const answer = await answerOf(url, requestHeaders, silenceMs, signal);
    status = answer.statusCode ?? 0;
    const type = answer.headers['content-type'] ?? '';
    if (status !== 200 || !type.startsWith('text/event-stream')) {
      return end('refused', await textOf(answer));
    }
    opened();
    const decoder = new TextDecoder();
    for await (const part of answer) {
      const text = decoder.decode(part as Uint8Array, { stream: true });
      if (head.length < openingCharactersMax) head += text;
      parser.feed(text);
      if (faults.length > 0) break;
    }
  } catch {
    // Whatever broke the stream, the caller continues in the same way.
  }
  if (faults.length > 0) throw faults[0];
  return end(signal.aborted ? 'cancelled' : 'lost');
}

/** Uses its own connection, which closes when the caller stops reading the answer. */
function answerOf(
  url: URL,
  headers: Readonly<Record<string, string>>,
  silenceMs: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: false, headers, signal }, resolve);
    request.on('error', reject);
    request.setTimeout(silenceMs, () => request.destroy(new Error('silent')));
  });
}

async function textOf(body: AsyncIterable<unknown>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > refusalBytesMax) break;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
