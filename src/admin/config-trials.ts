/**
 * Questions of an operator about configurations. Nothing is changed by them: the service runs on,
 * and nothing is delivered, kept or counted. No answer holds the value of a variable.
 */
import type { ChannelType, ConfigProblem } from '../config/config.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Apology } from '../domain/decision.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { FailureSummary } from '../domain/story.ts';
import type { GrantMode, ToolOutcome } from '../domain/tool-use.ts';
import type { Trace } from '../domain/trace.ts';
import type { Described } from './schemas/schema.ts';
import type { problemSchema } from './schemas/status.ts';

export interface ConfigTrials {
  /** The check of a text, with what only this machine can tell: its folders, the file's rights. */
  validate(text: string): Promise<Validated>;
  /** `busy`: too many are asked for at once. @param left aborts when the client has left */
  preflight(text: string, left: AbortSignal): Promise<Preflighted | 'busy'>;
  /**
   * Asks a brain of a draft.
   * @param left aborts when the client has left
   * @param show is called with '' once the brain is asked, then with the whole reply so far while
   *   it is written; absent: nobody looks
   */
  tryBrain(draft: Draft, left: AbortSignal, show?: (whole: string) => void): Promise<Tried>;
}

export type Validated = { readonly valid: boolean; readonly problems: readonly ConfigProblem[] };

export type Preflighted = Validated & { readonly lines: readonly CheckLine[] };

export type CheckLine = {
  readonly kind: 'ok' | 'warning' | 'failed';
  readonly subject: string;
  readonly message: string;
  readonly remedy: string | null;
  /** As long as it fails the configuration is not taken into use. */
  readonly refuses: boolean;
};

export type Draft = {
  /** The text of a configuration. */
  readonly config: string;
  readonly brain: string;
  readonly text: string;
  /** Its stamp: private, and no model elsewhere is asked, whatever the brain is. */
  readonly sensitivity: Sensitivity;
  /** For the grants of an agent; null: the channel that the draft routes to the brain. */
  readonly channel: ChannelType | null;
  /** What was said before, oldest first. */
  readonly turns: readonly TurnRow[];
};

export type Tried =
  | { readonly kind: 'tried'; readonly result: TryResult }
  | { readonly kind: 'config_invalid'; readonly problems: readonly ConfigProblem[] }
  | { readonly kind: 'secret_missing'; readonly problems: readonly ConfigProblem[] }
  /** Folders of the brain that come by hand only; `fields` are paths in the draft. */
  | {
      readonly kind: 'restart_required';
      readonly fields: readonly string[];
      readonly detail: string;
    }
  /** `brains` are those that the draft has. */
  | { readonly kind: 'unknown_brain'; readonly brains: readonly string[] }
  | { readonly kind: 'busy' };

export type TryResult = {
  readonly decision:
    | { readonly kind: 'reply'; readonly text: string; readonly model: string | null }
    | { readonly kind: 'apology'; readonly apology: Apology; readonly text: string };
  readonly ms: number;
  readonly why: string;
  readonly trace: Trace;
  /** Of every model of the brain, as listed. */
  readonly answers: readonly AnswerRow[];
  readonly tools: readonly ToolRow[];
};

/**
 * Of a trial under way. `more`: the reply goes on with this text; `anew`: this text takes the place
 * of all that was told. The last event is its `result`, or the problem that it ended with.
 */
export type TrialEvent =
  | { readonly kind: 'more' | 'anew'; readonly text: string }
  | { readonly kind: 'result'; readonly result: TryResult }
  | { readonly kind: 'problem'; readonly problem: Described<typeof problemSchema> };

/** `reason` is a sentence where there is no answer; `failure` where a call failed. */
export type AnswerRow = {
  readonly model: string;
  readonly kind: 'answer' | 'failed' | 'dropped' | 'not_asked';
  readonly text: string | null;
  readonly ms: number | null;
  readonly failure: FailureSummary | null;
  readonly reason: string | null;
};

/** `result` is what the model was told, cut; null: the tool was rehearsed and gave nothing. */
export type ToolRow = {
  readonly tool: string;
  readonly mode: GrantMode;
  readonly outcome: ToolOutcome;
  readonly arguments: string;
  readonly result: string | null;
};
