/**
 * A model is one provider plus one model id.
 *
 * What it promises: `ask` makes one answer of one request, follows no redirect, reads no proxy or
 * other setting from the environment, and returns an outcome; it does not throw. One call to the
 * provider is one try; it does not retry what failed (brain/dispatch decides that), but it may ask
 * once more with less history when the conversation is too long for the model.
 * What it may not do: see more than the request, or put words of the person, or a key, into a
 * failure. What else the provider said of an error is its `said`.
 * Who calls it: brains, many at the same time.
 */
import type { Picture } from '../../domain/attachment.ts';
import type { HistoryLine } from '../../domain/conversation.ts';
import type { Failure } from '../../domain/failure.ts';
import type { ModelName } from '../../domain/ids.ts';
import type { Outcome, ToolCall } from '../../domain/outcome.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import type { SteadyTime } from '../../lib/clock.ts';
import type { BudgetGuard } from '../../domain/spend.ts';
import type { Stop } from '../../lib/stop.ts';

export interface Model {
  readonly name: ModelName;
  /** The contract's name of its kind: `local_runtime` or `hosted_runtime`. */
  readonly provider: string;
  readonly modelId: string;
  readonly locality: 'local' | 'cloud';
  /** Its runtime may hand requests on to a vendor; `check` tells whether it does. */
  readonly mayForward: boolean;
  /**
   * @param stop ends the call; the outcome is then a failure of kind `cancelled`
   */
  ask(request: ModelRequest, stop: Stop): Promise<Outcome>;
  /**
   * Whether it is shown pictures: as declared, or as its provider says. Never rejects; a provider
   * that does not say has a model that sees none.
   * @param sensitivity as for `check`
   */
  sees(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<Sees>;
  /**
   * Asks the provider whether it is there and has this model. Sends no content of anyone.
   * @param sensitivity of the requests that are to follow: private ones go to near addresses only
   */
  check(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ModelCheck>;
  /**
   * How much the model reads and writes in one call, as its runtime says; null: it does not say.
   * Sends no content of anyone, and loads no model. Absent: its kind of runtime cannot say.
   * @param sensitivity as for `check`
   */
  context?(sensitivity: Sensitivity, deadlineAt: SteadyTime): Promise<ContextSeen | null>;
}

/** Counts of tokens; each is null where the runtime does not say it. */
export type ContextSeen = {
  readonly isLoaded: boolean;
  /** What the model is loaded with now. */
  readonly loaded: number | null;
  /** What the model's own file sets, for requests that set nothing. */
  readonly set: number | null;
  /** What the model was made for: a runtime gives it no more. */
  readonly most: number | null;
};

/** `unreached`: its provider did not answer in time, or not as it will later: nobody knows. */
export type Sees = boolean | 'unreached';

export type ModelCheck =
  | {
      readonly kind: 'reached';
      /** null where the provider does not list its models. */
      readonly hasModel: boolean | null;
      /**
       * Where the runtime runs the model. A private request is sent only where it is `here`;
       * `elsewhere` is a vendor, and `unknown` that the runtime has not shown it.
       */
      readonly runs: 'here' | 'elsewhere' | 'unknown';
      /** Where a local runtime lacks the model: names of some that it has; else none. */
      readonly others: readonly string[];
    }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type ModelRequest = {
  /**
   * A private request is refused by a model that is declared cloud, which is the second lock, and
   * goes over no connection but to a near address, as `isNear` says.
   */
  readonly sensitivity: Sensitivity;
  readonly system: string | null;
  /** Oldest first. Adjacent lines of one role are joined. */
  readonly lines: readonly RequestLine[];
  /**
   * From this place in `lines` nothing is left out when the lines are too many for the model: the
   * person's message, and what an agent has found out since.
   */
  readonly keptFrom: number;
  /** What the model may call, natively; empty: nothing, and an answer without text is a failure. */
  readonly tools: readonly ToolNotice[];
  /** False: nothing is to be called any more; the tools are named where its provider wants that. */
  readonly mayCall?: boolean;
  /** After it no answer is of use. */
  readonly deadlineAt: SteadyTime;
  /** It is asked before each call to the provider. */
  readonly budgetGuard: BudgetGuard;
  /** Whose turn it is, over all channels. No provider is told it. Absent: no conversation's. */
  readonly conversation?: string;
  /**
   * Is called with the whole text so far, less what the model thinks, each time when it has grown:
   * the provider is asked to answer in pieces. Absent: it answers in one. What it was told is not
   * the answer, which may still fail.
   */
  readonly onText?: (whole: string) => void;
};

/** A line of history, or of this turn: the model's calls, and the result of each. */
export type RequestLine =
  | HistoryLine
  | {
      readonly role: 'calls';
      readonly text: string;
      readonly calls: readonly ToolCall[];
      /** Fields that only the model's provider knows; absent: none. */
      readonly extra?: object;
    }
  | { readonly role: 'result'; readonly call: ToolCall; readonly text: string };

/** What is shown with it. */
export function picturesOn(line: RequestLine): readonly Picture[] {
  return 'pictures' in line ? (line.pictures ?? []) : [];
}

/** A tool as the model is told of it. `parameters` is a JSON Schema of an object. */
export type ToolNotice = {
  readonly name: string;
  readonly description: string;
  readonly parameters: object;
};
