/**
 * A model is one provider plus one model id.
 *
 * - `ask` answers one request and returns an outcome; it does not throw. It follows no redirect,
 *   and reads no proxy or other setting from the environment.
 * - One call to the provider is one try. A model does not retry after a failure, because
 *   `dispatch.ts` decides that. It may ask once more with less history if the conversation is too
 *   long.
 * - A model sees nothing but the request. A failure contains no text of the person and no key. The
 *   other words of the provider about an error are in `said`.
 * - Brains call a model many times at once.
 */
import type { Picture } from '../../domain/attachment.ts';
import type { ToolChoice, ToolLine, ToolNotice } from '../../domain/completion.ts';
import type { HistoryLine } from '../../domain/conversation.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome } from '../../domain/outcome.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { BudgetGuard } from '../../domain/spend.ts';
import type { Stop } from '../../lib/stop.ts';

export interface Model {
  readonly name: ModelName;
  /** `local_runtime` or `hosted_runtime`. */
  readonly provider: string;
  readonly modelId: string;
  readonly locality: 'local' | 'cloud';
  /** The runtime may relay requests to a vendor; `check` shows whether it does. */
  readonly mayForward: boolean;
  /**
   * @param stop ends the call; the outcome is then a failure of kind `cancelled`
   */
  ask(request: ModelRequest, stop: Stop): Promise<Outcome>;
  /**
   * Whether the model has vision: as configured, or as the provider reports it. Never rejects. If
   * the provider reports nothing, the model has none.
   * @param sensitivity as for `check`
   */
  sees(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Vision>;
  /**
   * Asks whether the provider is reachable and has this model. Sends no text of a person.
   * @param sensitivity that of the requests to follow; private ones go only to near addresses
   */
  check(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ModelCheck>;
  /**
   * The size of the model's context as its runtime reports it; null: it reports none. Sends no text
   * of a person, and loads no model. Absent: this kind of runtime cannot report it.
   * @param sensitivity as for `check`
   */
  context?(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ContextSizes | null>;
}

/** Counts of tokens; null where the runtime does not report one. */
export type ContextSizes = {
  readonly isLoaded: boolean;
  /** The context with which the model is loaded now. */
  readonly loaded: number | null;
  /** The default in the model's file, for requests without a value. */
  readonly set: number | null;
  /** The largest context of the model; a runtime gives it no more. */
  readonly most: number | null;
};

/** `unreached`: unknown, because the provider gave no answer in time, or no useful one yet. */
export type Vision = boolean | 'unreached';

export type ModelCheck =
  | {
      readonly kind: 'reached';
      /** Null: the provider does not list its models. */
      readonly hasModel: boolean | null;
      /**
       * The place where the runtime runs the model. Private requests are sent only if it is `here`.
       * `elsewhere` is a vendor; `unknown`: the runtime has not shown it.
       */
      readonly runs: 'here' | 'elsewhere' | 'unknown';
      /** If the provider lacks the model: the names of up to 500 that it lists. Otherwise empty. */
      readonly others: readonly string[];
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type ModelRequest = {
  /**
   * A cloud model refuses a private request; this is the second lock of privacy. A private request
   * goes only to near addresses, see `isNear`.
   */
  readonly sensitivity: Sensitivity;
  readonly system: string | null;
  /** Oldest first. Adjacent lines of one role become one message. */
  readonly lines: readonly RequestLine[];
  /**
   * From this index of `lines` on, no line is dropped if the request is too long: the person's
   * message, and an agent's calls and results after it.
   */
  readonly keptFrom: number;
  /** The native tools; empty: none, and an answer without text is a failure. */
  readonly tools: readonly ToolNotice[];
  /** False: the model may not call tools. The request names them only if the provider needs it. */
  readonly mayCall?: boolean;
  /** The model has to call a tool; absent: it decides. Not each provider enforces it. */
  readonly toolChoice?: ToolChoice;
  /** Lowers the limit of the answer, in tokens; absent: as configured. */
  readonly outputTokensMax?: number;
  /** Later answers are of no use. */
  readonly deadlineAt: SteadyTime;
  /** Reserves the cost before each call to the provider. */
  readonly budgetGuard: BudgetGuard;
  /** The conversation's key, unique over all channels. Providers never get it. Absent: none. */
  readonly conversation?: string;
  /**
   * Called with the whole text so far, without the model's thinking, each time it has grown. The
   * provider is then asked to stream. Absent: it does not stream. The call may still fail after
   * some text.
   */
  readonly onText?: (whole: string) => void;
  /**
   * What `onText` has shown cannot be replaced, so that an answer that the context cut is final.
   * Absent: svc asks for such an answer once more.
   */
  readonly isShownForGood?: true;
};

/** A line of the history, a line with the model's calls, or the result of one call. */
export type RequestLine = HistoryLine | ToolLine;

/**
 * The limit of the answer, in tokens; null: none.
 * @param configured null: none
 */
export function outputLimitOf(
  { outputTokensMax: asked }: Pick<ModelRequest, 'outputTokensMax'>,
  configured: number | null,
): number | null {
  return asked === undefined ? configured : Math.min(asked, configured ?? Infinity);
}

/** The pictures of a line. */
export function picturesOn(line: RequestLine): readonly Picture[] {
  return 'pictures' in line ? (line.pictures ?? []) : [];
}
