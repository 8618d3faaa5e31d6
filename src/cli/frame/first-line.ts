import type { Readable } from 'node:stream';

export type FirstLine = {
  /** Without its end; null: it is longer than it may be. */
  readonly line: string | null;
  /** What came in the same part and is more than white space: there are further lines. */
  readonly hasMore: boolean;
};

/**
 * The first line of a stream, or all of it where it has no line end. The stream is paused after it.
 * @param charactersMax a longer line is not read to its end
 * @param stop ends the wait, with what came so far
 */
export function readFirstLine(
  stream: Readable,
  charactersMax: number,
  stop: AbortSignal,
): Promise<FirstLine> {
  return new Promise((resolve) => {
    const decoder = new TextDecoder();
    let text = '';
    const end = (): void => {
      stream.removeListener('data', take).removeListener('end', end).removeListener('error', end);
      stop.removeEventListener('abort', end);
      stream.pause();
      const at = text.search(/\r?\n/);
      const line = at < 0 ? text : text.slice(0, at);
      const hasMore = at >= 0 && text.slice(at).trim() !== '';
      resolve({ line: line.length > charactersMax ? null : line, hasMore });
    };
    const take = (part: Buffer | string): void => {
      text += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
      if (text.includes('\n') || text.length > charactersMax) end();
    };
    stream.on('data', take).once('end', end).once('error', end);
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted || stream.readableEnded) end();
  });
}
