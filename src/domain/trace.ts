import type { CutReason } from './conversation.ts';
import type { ModelName } from './ids.ts';
import type { FailureKind } from './failure.ts';
import type { GrantMode, ToolOutcome } from './tool-use.ts';
import type { Try } from './outcome.ts';

/** One thing that happened to a message, without any text. Times are ms since its claim. */
export type TraceStep =
  | {
      readonly kind: 'session';
      readonly session: number;
      /** Why it began with this message; null: it was there before. */
      readonly cut: CutReason | null;
      /** The command that svc itself answered; null: a brain did. */
      readonly command: string | null;
    }
  | { readonly kind: 'shield'; readonly dropped: readonly ModelName[]; readonly kept: number }
  | {
      readonly kind: 'model';
      readonly model: ModelName;
      readonly rank: number;
      readonly startMs: number;
      readonly ms: number;
      readonly result: 'answer' | FailureKind;
      readonly tries: readonly Try[];
      readonly linesDropped: number;
    }
  | {
      readonly kind: 'tool';
      readonly tool: string;
      readonly mode: GrantMode;
      readonly outcome: ToolOutcome;
      readonly rule: string;
      readonly startMs: number;
      readonly ms: number;
    }
  | {
      readonly kind: 'policy';
      readonly policy: 'priority' | 'consensus';
      readonly verdict: 'reply' | 'none';
      readonly winner: ModelName | null;
      /** Groups of models that gave the same answer, largest first; only consensus counts votes. */
      readonly votes: readonly (readonly ModelName[])[];
      readonly why: string;
    };

/** Everything that happened to one message, on one clock (milliseconds since 1970). */
export type Trace = {
  readonly acceptedAt: number;
  readonly claimedAt: number;
  readonly decidedAt: number;
  readonly brain: string;
  readonly attempt: number;
  readonly outcome:
    | 'reply'
    | 'command'
    | 'no_consensus'
    | 'busy'
    | 'no_answer'
    | 'unfinished'
    | 'fault';
  readonly steps: readonly TraceStep[];
};
