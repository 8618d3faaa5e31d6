/**
 * A brain turns one turn into one decision.
 *
 * What it promises: it does not throw (a failure is a decision), and ends soon after its desk's
 * stop is said. What it may not do: touch the world except through the desk and its models.
 * Who calls it: the pipeline, many turns at the same time, never two of one conversation.
 */
import type { ChannelType } from '../config/config.ts';
import type { AskAnswer, Verdict, WantedCall, Yes } from '../domain/approval.ts';
import type { Attachment, Picture } from '../domain/attachment.ts';
import type { HistoryBounds, QuotedBlock, TurnRow } from '../domain/conversation.ts';
import type { Decision } from '../domain/decision.ts';
import type { Message } from '../domain/message.ts';
import type { Note, NoteMove, NoteScope } from '../domain/note.ts';
import type {
  Ability,
  BegunCall,
  CallEnding,
  EarlierCall,
  LoggedCall,
  ToolUse,
} from '../domain/tool-use.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Budget, BudgetGuard } from '../domain/spend.ts';
import type { UnsentAnswer } from '../domain/story.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { SteadyTime } from '../lib/clock.ts';
import type { Stop } from '../lib/stop.ts';

export interface Brain {
  readonly name: string;
  /** Private: its models elsewhere are asked nothing, and what comes of its turns is private. */
  readonly sensitivity: Sensitivity;
  /** What svc tells about the brain and keeps for it; null: it is no agent. */
  readonly agent: AgentFacts | null;
  /** What it may use of models that cost; null: no bound. */
  readonly budget: Budget | null;
  /** How much of a session it is shown. */
  readonly historyBounds: HistoryBounds;
  /** How long one turn may take, from its claim. */
  readonly deadlineMs: number;
  think(turn: Turn, turnContext: TurnContext): Promise<Decision>;
}

/** What a person may ask svc about an agent. */
export type AgentFacts = {
  /** Who may say yes to its calls, and how long these wait; null: none of its tools asks. */
  readonly asking: Asking | null;
  /** Whose notes it keeps; null: none. */
  readonly notes: NoteScope | null;
  /** The agent's tools with what they may do on that channel. */
  abilitiesOn(channel: ChannelType): readonly Ability[];
};

/**
 * `approvers` as the ledger names who decides; the operator is not among them. `text`: what they
 * are sent in chats of their own.
 */
export type Asking = {
  readonly approvers: readonly string[];
  readonly waitMs: number;
  readonly text: 'full' | 'notice';
};

/** What became of a call that waited; `approved`: it is to be run now. */
export type Followed = WantedCall &
  (
    | { readonly verdict: 'approved'; readonly by: Yes['by'] }
    | { readonly verdict: Exclude<Verdict, 'approved'> }
  );

/** Pictures that came with turns of the history. */
export type EarlierPictures = ReadonlyMap<TurnRow, readonly Picture[]>;

/**
 * `text` is what the brain is to answer: the message's, less what a session trigger took. A private
 * message makes the turn private, whatever the brain is; of the history, what is private is shown
 * to local models alone.
 */
export type Turn = {
  readonly message: Message;
  readonly text: string;
  /** Oldest first. */
  readonly history: readonly TurnRow[];
  /** The number of the conversation's session that it is in; absent: it has one alone. */
  readonly session?: number;
  /**
   * When the window of history was cut, or the session began: milliseconds since 1970. Absent:
   * nobody knows.
   */
  readonly windowAt?: number;
  /** What came with it, as far as svc could read it; absent: nothing, or nothing was fetched. */
  readonly attachments?: readonly Attachment[];
  /** What it replies to, shown to whom a turn with its stamp would be; absent: nothing. */
  readonly quoted?: QuotedBlock;
  /** Looks for pictures of its history, once somebody sees; never rejects. Absent: it has none. */
  readonly pictured?: () => Promise<EarlierPictures>;
  /** The turn goes on with this call, before its model is asked; absent: it follows none. */
  readonly followed?: Followed;
};

/** All that a brain may do to the world while it thinks. */
export interface TurnContext {
  /** Nothing is to happen outside: a tool that reaches out is recorded and not run. */
  readonly dryRun: boolean;
  readonly stop: Stop;
  readonly deadlineAt: SteadyTime;
  /** Pays for every call to a model. */
  readonly budgetGuard: BudgetGuard;
  /** Whose turn it is, over all channels; absent: no conversation's, it is a trial. */
  readonly conversation?: string;
  /**
   * Shows the person the whole reply so far, while it is still being written. It costs the reply
   * nothing, whatever becomes of it. Absent: nobody looks.
   */
  readonly show?: ((whole: string) => void) | undefined;
  addStep(step: TraceStep): void;
  /** What comes of this turn is private: it draws on something that is. */
  becomePrivate(): void;
  /** Unanswered turns of the history that no later turn is to see. */
  leaveOut(turns: readonly TurnRow[]): void;
  /** Unanswered turns of it that failed the model once, which may have been chance. */
  doubt(turns: readonly TurnRow[]): void;
  /** Answers that are not the reply, for the operator. */
  keepUnsent(answers: readonly UnsentAnswer[]): void;
  /** The notes of that scope, oldest first, without those of this turn. */
  notes(scope: NoteScope): Promise<readonly Note[]>;
  /** Takes effect with the turn's end, in its commit. */
  keep(move: NoteMove): void;
  /** Before a tool runs that changes something elsewhere; see the ledger's `calls`. */
  logCall(call: BegunCall): Promise<LoggedCall>;
  logCallEnd(key: string, ending: CallEnding): void;
  /** What earlier runs of this message began; see the ledger's `calls`. */
  earlierCalls(): Promise<readonly EarlierCall[]>;
  /** Has a call wait for a yes from the end of this turn on, if that ends with `question`. */
  ask(call: WantedCall): Promise<AskAnswer>;
  /** What the person is told of the calls that were asked for. */
  question(): string;
  /**
   * For the audit: one call that was asked for, whatever became of it.
   * @param told what the model was told of the call
   */
  used(use: ToolUse, told: string): void;
}
