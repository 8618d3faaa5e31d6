/**
 * A brain turns one turn into one decision.
 *
 * What it promises: it does not throw (a failure is a decision), and ends soon after its desk's
 * signal aborts. What it may not do: touch the world except through the desk and its models.
 * Who calls it: the pipeline, many turns at the same time, never two of one conversation.
 */
import type { HistoryLine } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import type { Message } from '../domain/message.ts';
import type { TraceStep } from '../domain/trace.ts';

export interface Brain {
  readonly name: string;
  /** How long one turn may take, from its claim. */
  readonly deadlineMs: number;
  think(turn: Turn, desk: Desk): Promise<Decision>;
}

/** `text` is what the brain is to answer: the message's, less what a session trigger took. */
export type Turn = {
  readonly message: Message;
  readonly text: string;
  readonly history: readonly HistoryLine[];
};

/** All that a brain may do to the world while it thinks. */
export interface Desk {
  readonly signal: AbortSignal;
  /** Milliseconds since 1970. */
  readonly deadlineAt: number;
  step(step: TraceStep): void;
}
