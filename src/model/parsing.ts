/**
 * What both wires have in common. All of it is pure. What a provider sent is `unknown` until it is
 * looked at, and its words are matched here but never passed on.
 */
import { failure } from '../domain/failure.ts';
import type { Failure } from '../domain/failure.ts';
import type { ToolCall, Usage } from '../domain/outcome.ts';
import { withoutThinkBlock } from '../domain/think-block.ts';
import type { ModelRequest } from './model.ts';

/** What one HTTP answer says, once the wire is gone. */
export type Parsed =
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly usage: Usage | null;
      /** The local runtime asked this vendor; null: it answered by itself. */
      readonly remoteHost: string | null;
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

type ChatMessage = { role: 'system' | 'user' | 'assistant'; content: string };

/** The request's messages; adjacent lines of one role are joined with a blank line. */
export function messagesOf({ system, lines }: ModelRequest): readonly ChatMessage[] {
  const messages: ChatMessage[] = [];
  if (system !== null) messages.push({ role: 'system', content: system });
  for (const { role, text } of lines) {
    const last = messages.at(-1);
    if (last?.role === role) last.content += `\n\n${text}`;
    else messages.push({ role, content: text });
  }
  return messages;
}

/** The answer, or the failure that an answer without text is. */
export function answerOf(
  content: string,
  more: {
    readonly calls: readonly ToolCall[];
    readonly usage: Usage | null;
    readonly remoteHost?: string | null;
  },
): Parsed {
  const text = withoutThinkBlock(content).trim();
  if (text !== '') {
    return { kind: 'answer', text, ...more, remoteHost: more.remoteHost ?? null };
  }
  const wrote = (more.usage?.outputTokens ?? 0) > 0;
  return failed('empty_answer', {
    detail: wrote ? 'the model wrote something, but no text for the person' : 'it was empty',
  });
}

/**
 * The failure that a status stands for, with the help of the error body's own words.
 * @param words the code, type and message of the error, as one text; they are only matched
 */
export function failureOf(status: number, words: string, retryAfterMs: number | null): Failure {
  if (status === 401 || status === 403) return failure('unauthorized', { status });
  if (status === 429) return failure('rate_limited', { status, retryAfterMs });
  if (busy.has(status)) return failure('overloaded', { status, retryAfterMs });
  if (status >= 300 && status < 400) return failure('redirected', { status });
  if (status === 413 || tooLong.test(words)) return failure('context_overflow', { status });
  if (noTools.test(words)) return failure('tools_unsupported', { status });
  if (status === 404) return failure('not_found', { status });
  if (status >= 500) return failure('server_error', { status, retryAfterMs });
  if (status >= 400) return failure('rejected', { status });
  return failure('malformed_answer', { status });
}

/** 408 time-out of the other side, 498 no capacity, 503 busy or loading, 529 overloaded. */
const busy = new Set([408, 498, 503, 529]);
const tooLong =
  /context[ _](?:length|size|window)|maximum context|prompt (?:is )?too long|reduce the length/i;
const noTools = /does not support tools/i;

export function failed(
  kind: Failure['kind'],
  more: { status?: number; detail?: string } = {},
): Parsed {
  return { kind: 'failed', failure: failure(kind, more) };
}

/** The value as an object to look into; null for anything else. */
export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const countOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

export function usageOf(input: unknown, output: unknown): Usage | null {
  const usage = { inputTokens: countOf(input), outputTokens: countOf(output) };
  return usage.inputTokens === null && usage.outputTokens === null ? null : usage;
}

/** Tool calls have one shape on both wires, but for the arguments, which are passed on as is. */
export function callsOf(value: unknown): readonly ToolCall[] {
  return listOf(value).flatMap((item, index) => {
    const call = recordOf(item);
    const asked = recordOf(call?.['function']);
    const name = textOf(asked?.['name']);
    if (name === '') return [];
    return [{ id: textOf(call?.['id']) || `call_${index}`, name, arguments: asked?.['arguments'] }];
  });
}
