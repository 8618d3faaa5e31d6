import type { Failure, FailureKind } from './failure.ts';
import type { Used } from './spend.ts';

/** One call to a provider. `ms` is its length, `startedAt` milliseconds since 1970. */
export type Try = {
  readonly startedAt: number;
  readonly ms: number;
  readonly failed: FailureKind | null;
  /** What it used; absent: nothing, or it is of a trace that tells no such thing. */
  readonly tokens?: Used | null;
};

/** `cachedTokens` are a part of `inputTokens`; absent or null: its provider told none. */
export type Usage = {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens?: number | null;
};

/** A tool call that a model asked for. `arguments` is what the wire held, not yet checked. */
export type ToolCall = {
  /** Empty: its provider gave none. */
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** Fields that only its provider knows, and wants back; absent: none. */
  readonly extra?: CallExtra;
};

/** An id for the n-th call without one of its own: Mistral's models take this form alone. */
export function madeCallId(n: number): string {
  return `call${String(n).padStart(5, '0')}`;
}

/** Beside the call's own fields, and beside those of its function. */
export type CallExtra = { readonly call: object; readonly function: object };

/** What a model gave. A model call returns an outcome; it does not throw. */
export type Outcome = {
  /** The share of the last prompt that this one began with, 0 to 1; absent: none is known. */
  readonly reuse?: number;
} & (
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly usage: Usage | null;
      readonly tries: readonly Try[];
      /** History lines left out because the model could not read so many; 0 when none. */
      readonly linesDropped: number;
      /** Fields of its line that only its provider knows, and wants back; absent: none. */
      readonly extra?: object;
      /** It ends where its provider cut it, at a limit of its length. */
      readonly isCut?: true;
    }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly tries: readonly Try[] }
);
