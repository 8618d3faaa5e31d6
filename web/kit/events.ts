/** Reads streams of server-sent events. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { StreamReader } from './api.ts';

/**
 * Reads a stream of events to its end.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @returns a promise that rejects when the stream breaks
 */
export async function readEvents(
  body: ReadableStream<BufferSource>,
  onEvent: (event: EventSourceMessage) => void,
): Promise<void> {
  const parser = createParser({ onEvent });
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parser.feed(part.value);
  }
}

/** Reads a stream whose last event is the answer. @param onEvent called for each event */
export function lastEvent(onEvent: (event: unknown) => void): StreamReader {
  return async (body, heard) => {
    let last = '';
    await readEvents(body, ({ data }) => {
      heard();
      last = data;
      onEvent(JSON.parse(data));
    });
    return last;
  };
}
