/** The result of an MCP tool's call, as text for the model: bounded, and only text. */
import { canonicalJson } from '../../../lib/json.ts';
import type { ToolResult } from '../tool.ts';
import { UrlFault } from './url-fault.ts';

const bytesMax = 64 * 1024;
const partsMax = 64;

/**
 * @param result of `tools/call`
 * @param clean removes secrets of the server's environment
 */
export function resultOf(result: unknown, clean: (text: string) => string): ToolResult {
  const { structuredContent, isError } = (result ?? {}) as Record<string, unknown>;
  const parts = partsOf(result);
  const texts = parts.slice(0, partsMax).map(partInWords);
  if (parts.length > partsMax) texts.push(`[${parts.length - partsMax} more parts]`);
  const structured = structuredContent == null ? null : canonicalJson(structuredContent);
  if (structured !== null && !isRepeated(structuredContent, parts)) texts.push(structured);
  const { text, cut } = bounded(clean(texts.join('\n')));
  if (isError === true) return { kind: 'failed', text: `The server says that it failed: ${text}` };
  return { kind: 'done', text: text === '' ? 'It gave back nothing.' : text, cut };
}

/**
 * The parts of a result. Some servers give a single part, a text, or their bare value instead of a
 * list (devbench#6, mcp-server-smtp#4); the first revision of the protocol had `toolResult`.
 */
function partsOf(result: unknown): readonly unknown[] {
  if (typeof result !== 'object' || result === null) return [];
  const {
    content,
    toolResult,
    structuredContent,
    isError: _e,
    _meta: _m,
    ...rest
  } = result as {
    readonly [key: string]: unknown;
  };
  if (Array.isArray(content)) return content;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (typeof content === 'object' && content !== null) return [content];
  if (typeof toolResult === 'object' && toolResult !== null) {
    return partsOf({ ...toolResult, toolResult: null });
  }
  const isBare = structuredContent === undefined && Object.keys(rest).length > 0;
  return isBare ? [rest] : [];
}

/**
 * Whether texts repeat the structured part of a result. The protocol asks servers to give it as
 * text, too (MCP 2025-11-25, server/tools, "Structured Content"); many give it alone. A value that
 * is no object stands under one name (FastMCP's `result`, `content` of the server of files). Beside
 * it stands one text, or one for each item of a list.
 */
function isRepeated(structured: unknown, parts: readonly unknown[]): boolean {
  const texts = parts.slice(0, partsMax).flatMap((part) => {
    const { text } = (part ?? {}) as { text?: unknown };
    return typeof text === 'string' ? [text] : [];
  });
  if (texts.length === 0) return false;
  const values = texts.map(valueOf);
  const inner = typeof structured === 'object' ? Object.values(structured ?? {}) : [];
  const wanted = new Set(
    [structured, ...(inner.length === 1 ? inner : [])].map((one) => canonicalJson(one)),
  );
  return [...texts, ...values, texts, values].some((one) => wanted.has(canonicalJson(one)));
}

/** The value of a JSON text; any other text stands for itself. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function partInWords(part: unknown): string {
  if (typeof part !== 'object' || part === null) return '[something else]';
  const { type, text, data, resource, uri } = part as Record<string, unknown>;
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : '[text, empty]';
    case 'image':
    case 'audio':
      return `[${type}, ${sizeOf(data)}]`;
    case 'resource': {
      const { text: within, blob } = (resource ?? {}) as Record<string, unknown>;
      return typeof within === 'string' ? within : `[resource, ${sizeOf(blob)}]`;
    }
    case 'resource_link':
      return `[link to a resource${typeof uri === 'string' ? `: ${uri.slice(0, 500)}` : ''}]`;
    default:
      return otherInWords(part);
  }
}

/** A part of an unknown kind, as JSON (unpaywall-mcp#4); a long one is only named. */
function otherInWords(part: object): string {
  const { type, ...rest } = part as { type?: unknown };
  const json = canonicalJson(rest) ?? '';
  if (json !== '' && json.length <= otherLengthMax) return json;
  const kind = typeof type === 'string' ? type.slice(0, 40) : 'something else';
  return `[${kind}, ${Math.round(json.length / 1_000)} kB]`;
}

const otherLengthMax = 16_384;

/** The size of base64 data. */
function sizeOf(data: unknown): string {
  const bytes = typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0;
  return bytes < 1_000 ? `${bytes} bytes` : `${Math.round(bytes / 1_000)} kB`;
}

const cutMark = '\n[cut: the rest is too long]';

function bounded(text: string): { readonly text: string; readonly cut: boolean } {
  const whole = text.toWellFormed();
  if (Buffer.byteLength(whole) <= bytesMax) return { text: whole, cut: false };
  const bytes = Buffer.from(whole).subarray(0, bytesMax);
  return { text: bytes.toString('utf8').replace(/\uFFFD$/, '') + cutMark, cut: true };
}

const notKnown = 'Whether the call took effect is not known.';

/** A server's error answer, or what prevented an answer, as text for the model. */
export function errorText(error: unknown): string {
  if (error instanceof UrlFault) {
    const ran = error.mayHaveRun ? notKnown : 'The call was not run.';
    return `The call failed: ${error.what}. ${ran}`;
  }
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code === 'REQUEST_TIMEOUT') {
    return `The server did not answer in time. ${notKnown}`;
  }
  if (typeof code !== 'number') return `The call failed before an answer came. ${notKnown}`;
  const words = typeof message === 'string' ? message.slice(0, 2_000).toWellFormed() : '';
  return `The server answered with an error (${code}): ${words}`;
}
