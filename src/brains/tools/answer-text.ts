/**
 * Turns an HTTP answer into text for a model: only content whose type says text, decoded by its
 * character set, without a page's markup, cut to a number of bytes.
 */
import type { IncomingHttpHeaders } from 'node:http';

export type TextKind = {
  /** Lower case, without parameters. */
  readonly type: string;
  readonly page: boolean;
  /** From the content-type header; null: the header names none. */
  readonly charset: string | null;
};

const textTypes = [
  /^text\/[\w.+-]+$/,
  /^application\/(?:[\w.-]+\+)?(?:json|xml)$/,
  /^application\/(?:x-ndjson|json-seq|javascript|yaml|toml)$/,
];

/** @returns null: not text, or compressed though svc did not ask for that */
export function textKindOf(headers: IncomingHttpHeaders): TextKind | null {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding.trim().toLowerCase() !== 'identity') return null;
  const contentType = headers['content-type'] ?? 'text/plain';
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (!textTypes.some((known) => known.test(type))) return null;
  const charset = /;\s{0,9}charset\s{0,9}=\s{0,9}"?([\w.:-]{1,40})/i.exec(contentType)?.[1] ?? null;
  return { type, page: type === 'text/html' || type === 'application/xhtml+xml', charset };
}

/** Why `textKindOf` returned null, as text for the model. */
export function whyNoText(headers: IncomingHttpHeaders): string {
  if ((headers['content-encoding'] ?? '') !== '') {
    return 'Its content is compressed though that was not asked for, and was not read.';
  }
  return 'Its content is not text, and was not read.';
}

/** @param whole whether the bytes are the complete body */
export async function answerText(
  bytes: Buffer,
  whole: boolean,
  kind: TextKind,
  bytesMax: number,
): Promise<{ readonly text: string; readonly cut: boolean }> {
  const decoder = decoderFor(kind, bytes);
  if (decoder === null) return { text: '[in a character set that is not known]', cut: true };
  const decoded = decoder.decode(bytes, { stream: !whole });
  if (decoded.includes('\0')) return { text: '[this is not text]', cut: true };
  const text = kind.page ? await pageText(decoded, bytesMax) : decoded;
  return cutToBytes(text, whole, bytesMax);
}

/**
 * Reads one character more than `bytesMax`: a character has at least one byte, so the rest is cut.
 */
async function pageText(page: string, bytesMax: number): Promise<string> {
  const { textOfPage } = await import('./page-text.ts');
  return textOfPage(page, bytesMax + 1);
}

function decoderFor({ charset, page }: TextKind, bytes: Buffer): TextDecoder | null {
  const encodingName = charset ?? (page ? charsetInPage(bytes) : null) ?? 'utf-8';
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  try {
    return new TextDecoder(marked ? 'utf-8' : encodingName);
  } catch {
    return null;
  }
}

/** Format: the HTML standard, "prescan a byte stream to determine its encoding", the usual case. */
function charsetInPage(bytes: Buffer): string | null {
  const start = bytes.toString('latin1', 0, 1024);
  return /<meta[^>]{0,200}charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})/i.exec(start)?.[1] ?? null;
}

/** Never splits a character. */
function cutToBytes(
  text: string,
  whole: boolean,
  bytesMax: number,
): { readonly text: string; readonly cut: boolean } {
  const bytes = Buffer.from(text);
  if (whole && bytes.length <= bytesMax) return { text, cut: false };
  let end = Math.min(bytes.length, bytesMax);
  while (end > 0 && end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
  return { text: `${bytes.toString('utf8', 0, end)}\n[cut: there is more]`, cut: true };
}
