/** The outcome of asking a model: an answer or a failure, with all tries at its provider. */
import type { Failure, FailureKind } from './failure.ts';
import type { Used } from './spend.ts';

/** One call to a provider. `ms` is its length, `startedAt` is in milliseconds since 1970. */
export type Try = {
  readonly startedAt: number;
  readonly ms: number;
  readonly failed: FailureKind | null;
  /** The tokens that the try used; absent: none, or the trace does not have them. */
  readonly tokens?: Used | null;
};

/**
 * The tokens of an answer. `cachedTokens` are a part of `inputTokens`; absent or null: the provider
 * did not report them.
 */
export type Usage = {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens?: number | null;
};

/** A tool call that a model asked for. `arguments` is the value from the wire, not yet checked. */
export type ToolCall = {
  /** Empty: the provider gave none. */
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  /** Fields that only the provider understands, and wants back; absent: none. */
  readonly extra?: CallExtra;
};

/** An id for the n-th call that has no id. Mistral's models accept only this format. */
export function madeCallId(n: number): string {
  return `call${String(n).padStart(5, '0')}`;
}

/** More fields of the call, and more fields of its function. */
export type CallExtra = { readonly call: object; readonly function: object };

/** The result of asking a model. A model call returns an outcome; it does not throw. */
export type Outcome = {
  /** The share of the last prompt that this prompt begins with, 0 to 1; absent: unknown. */
  readonly reuse?: number;
} & (
  | {
      readonly kind: 'answer';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly usage: Usage | null;
      readonly tries: readonly Try[];
      /**
       * The number of history lines that were left out because the model could not read so many.
       */
      readonly linesDropped: number;
      /**
       * Fields of the model's message that only its provider understands, and wants back; absent:
       * none.
       */
      readonly extra?: object;
      /** The provider cut the text at a limit of its length. */
      readonly isCut?: true;
    }
  | { readonly kind: 'failed'; readonly failure: Failure; readonly tries: readonly Try[] }
);
