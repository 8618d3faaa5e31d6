/**
 * The port for an operator's questions about configurations. They change nothing in the running
 * service: svc delivers, stores and counts nothing. No answer contains a secret.
 */
import type { ConfigProblem } from '../config/problems.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Apology } from '../domain/decision.ts';
import type { GivenMessage } from '../domain/explain-route.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { FailureSummary } from '../domain/story.ts';
import type { GrantMode, ToolOutcome } from '../domain/tool-use.ts';
import type { Trace } from '../domain/trace.ts';
import type { Described } from './schemas/schema.ts';
import type { problemSchema } from './schemas/status.ts';

export interface ConfigTrials {
  /** Checks a text, including folders and file rights of this machine. */
  validate(text: string): Promise<Validated>;
  /**
   * `busy`: too many preflights run.
   * @param left aborts when the client has left
   */
  preflight(text: string, left: AbortSignal): Promise<Preflighted | 'busy'>;
  /**
   * Lists the models of a provider. `busy`: too many preflights run.
   * @param left aborts when the client has left
   */
  listModels(provider: ModelProvider, left: AbortSignal): Promise<ModelList | 'busy'>;
  /**
   * Asks a brain of a draft.
   * @param left aborts when the client has left
   * @param show is called with '' once the brain is asked, then with the whole reply so far while
   *   it is written; left out: nobody watches
   */
  tryBrain(draft: Draft, left: AbortSignal, show?: (whole: string) => void): Promise<Tried>;
}

export type Validated = { readonly valid: boolean; readonly problems: readonly ConfigProblem[] };

export type Preflighted = Validated & { readonly lines: readonly CheckLine[] };

/** Where a model of a draft is, by fields of the configuration; null: the field is not set. */
export type ModelProvider = {
  readonly provider: string;
  readonly base_url: string | null;
  readonly api_key_env: string | null;
};

/** The names of a provider's models; `reason`: a sentence if it listed none, otherwise null. */
export type ModelList = { readonly names: readonly string[]; readonly reason: string | null };

export type CheckLine = {
  readonly kind: 'ok' | 'warning' | 'failed';
  readonly subject: string;
  readonly message: string;
  readonly remedy: string | null;
  /** While it fails, the configuration cannot come into use. */
  readonly refuses: boolean;
};

export type Draft = {
  /** The text of a configuration. */
  readonly config: string;
  /** null: the brain of the route that the text takes on `channel`. */
  readonly brain: string | null;
  readonly text: string;
  /** Where the text is sent, and by whom. Only a draft without `brain` uses it. */
  readonly from: Omit<GivenMessage, 'text'>;
  /**
   * The sensitivity label of the text. If it is private, no cloud model is asked, even by a public
   * brain.
   */
  readonly sensitivity: Sensitivity;
  /**
   * The name of the channel, which decides the grants of an agent; null: the one that the draft
   * routes to the brain.
   */
  readonly channel: string | null;
  /** The conversation so far, oldest first. */
  readonly turns: readonly TurnRow[];
};

export type Tried =
  | { readonly kind: 'tried'; readonly result: TryResult }
  | { readonly kind: 'config_invalid'; readonly problems: readonly ConfigProblem[] }
  | { readonly kind: 'secret_missing'; readonly problems: readonly ConfigProblem[] }
  /** Folders of the brain that need a person at the machine; `fields` are paths in the draft. */
  | {
      readonly kind: 'restart_required';
      readonly fields: readonly string[];
      readonly detail: string;
    }
  /** `brains` are the names in the draft. */
  | { readonly kind: 'unknown_brain'; readonly brains: readonly string[] }
  /** `channels` are the names in the draft that have routes. */
  | { readonly kind: 'unknown_channel'; readonly channels: readonly string[] }
  | { readonly kind: 'busy' };

export type TryResult = {
  readonly decision:
    | { readonly kind: 'reply'; readonly text: string; readonly model: string | null }
    | { readonly kind: 'apology'; readonly apology: Apology; readonly text: string };
  readonly ms: number;
  readonly why: string;
  /** The route that the text takes, and why; null or absent: the draft names the brain. */
  readonly route?: { readonly number: number; readonly why: string } | null;
  readonly trace: Trace;
  /** One for each model of the brain, in the configured order. */
  readonly answers: readonly AnswerRow[];
  readonly tools: readonly ToolRow[];
};

/**
 * An event of a trial under way. `more`: text to append to the reply. `anew`: text that replaces
 * all text so far. The last event is the `result`, or the problem that ended the trial.
 */
export type TrialEvent =
  | { readonly kind: 'more' | 'anew'; readonly text: string }
  | { readonly kind: 'result'; readonly result: TryResult }
  | { readonly kind: 'problem'; readonly problem: Described<typeof problemSchema> };

/** `reason` is a sentence if there is no answer; `failure` is set if a call failed. */
export type AnswerRow = {
  readonly model: string;
  readonly kind: 'answer' | 'failed' | 'dropped' | 'not_asked';
  readonly text: string | null;
  readonly ms: number | null;
  readonly failure: FailureSummary | null;
  readonly reason: string | null;
};

/** `result` is the result that the model received, cut; null: the tool was not run in the trial. */
export type ToolRow = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly outcome: ToolOutcome;
  readonly arguments: string;
  readonly result: string | null;
};
