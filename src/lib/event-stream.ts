/**
 * One connection to a stream of server-sent events, from its beginning to its end. Coming back is
 * the caller's business. Plain HTTP; no redirect is followed, and no proxy is read from the
 * environment.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import type { IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import { get } from './node-http.ts';

export type StreamAsked = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The stream goes on behind this event; null: it begins with the next one. */
  readonly lastId: string | null;
  /** The connection is given up when nothing, not even a comment, has come for so long. */
  readonly silenceMs: number;
};

export type StreamEvent = { readonly kind: string; readonly data: string };

/** `lastId` is where to go on; where no event came it is the one that was asked with. */
export type StreamEnd = {
  /**
   * `refused`: another answer came. `lost`: none came, or it broke off, or the other side ended.
   */
  readonly kind: 'refused' | 'lost' | 'cancelled';
  /** null: no answer came. */
  readonly status: number | null;
  /** The body of a refusal; otherwise empty. */
  readonly body: string;
  readonly lastId: string | null;
};

/**
 * svc begins its stream with the id to go on from, before any event. The parser reports the ids of
 * events alone.
 */
const opening = /^retry: \d+\nid: (.+)\n\n/;
const openingCharactersMax = 256;
const eventCharactersMax = 1024 * 1024;
const refusalBytesMax = 65_536;

/**
 * @param take is given each event; what it throws ends the stream and is thrown on
 * @param opened is called once the stream has begun
 */
export async function readEventStream(
  { url, headers, lastId: from, silenceMs }: StreamAsked,
  signal: AbortSignal,
  take: (event: StreamEvent) => void,
  opened: () => void,
): Promise<StreamEnd> {
  let head = '';
  let eventId: string | undefined;
  let status: number | null = null;
  const end = (kind: StreamEnd['kind'], body = ''): StreamEnd => {
    const lastId = eventId ?? opening.exec(head)?.[1] ?? from;
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
    const sent = { accept: 'text/event-stream', ...headers, ...resume };
    const answer = await answerOf(url, sent, silenceMs, signal);
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
    // However it broke, the way to go on is the same.
  }
  if (faults.length > 0) throw faults[0];
  return end(signal.aborted ? 'cancelled' : 'lost');
}

/** Uses a connection of its own, which closes when the reading of its answer ends. */
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
