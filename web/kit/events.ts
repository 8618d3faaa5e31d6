import { createParser, type EventSourceMessage } from 'eventsource-parser';

/**
 * Reads a stream of events to its end.
 * Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 * @returns rejects when the stream breaks off
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
