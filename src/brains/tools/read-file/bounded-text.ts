/** The text at the beginning of an open file, and nothing but text. */
import type { FileHandle } from 'node:fs/promises';

export type BoundedText =
  | { readonly kind: 'text'; readonly text: string; readonly bytes: number; readonly cut: boolean }
  | { readonly kind: 'not_text' };

const chunkBytes = 65_536;

/**
 * Reads from the beginning, one byte more than it gives at most: a file that grows meanwhile, or
 * that says nothing of its size, makes no difference.
 * @param bytesMax of the text; it ends before a character that would be parted
 * @throws what the system says to a read
 */
export async function readBoundedText(
  file: FileHandle,
  bytesMax: number,
  signal: AbortSignal,
): Promise<BoundedText> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= bytesMax) {
    signal.throwIfAborted();
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, bytesMax + 1 - length));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
  }
  const bytes = Buffer.concat(chunks, Math.min(length, bytesMax));
  return asText(bytes, length > bytesMax);
}

function asText(bytes: Buffer, cut: boolean): BoundedText {
  if (bytes.includes(0)) return { kind: 'not_text' };
  try {
    // With `stream` an incomplete character at the end is kept back, and is no fault.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut });
    return { kind: 'text', text, bytes: bytes.length, cut };
  } catch {
    return { kind: 'not_text' };
  }
}
