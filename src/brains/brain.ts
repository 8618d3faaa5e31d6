/**
 * A brain turns one turn into one decision.
 *
 * - It does not throw: a failure is a decision.
 * - It ends soon after the stop of its turn context.
 * - It reaches the outside only through the turn context and its models.
 * - The pipeline calls it for many turns at the same time, never for two of one conversation.
 */
import type { AskAnswer, Verdict, WantedCall, GivenApproval } from '../domain/approval.ts';
import type { Attachment, Picture } from '../domain/attachment.ts';
import type { GivenConversation } from '../domain/completion.ts';
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
  /** Private: its cloud models get no request, and the results of its turns are private. */
  readonly sensitivity: Sensitivity;
  /** Facts about the agent; null: the brain is no agent. */
  readonly agent: AgentFacts | null;
  /** The budget for models that cost; null: no limit. */
  readonly budget: Budget | null;
  /** How much of a session the brain sees. */
  readonly historyBounds: HistoryBounds;
  /** The longest time of one turn, from its claim. */
  readonly deadlineMs: number;
  think(turn: Turn, turnContext: TurnContext): Promise<Decision>;
}

/** The facts about an agent that svc shows to people. */
export type AgentFacts = {
  /** How calls wait for an approval; null: none of its tools needs one. */
  readonly asking: ApprovalRules | null;
  /** The scope of its notes; null: it keeps none. */
  readonly notes: NoteScope | null;
  /** The agent's tools, each with its rights on that channel. */
  abilitiesOn(channel: string): readonly Ability[];
};

/**
 * How an agent's calls wait for an approval. `approvers`: in the ledger's form; the operator is not
 * in the list. `waitMs`: the longest wait. `text`: how much of a call the approvers read in their
 * own chats.
 */
export type ApprovalRules = {
  readonly approvers: readonly string[];
  readonly waitMs: number;
  readonly text: 'full' | 'notice';
};

/** The verdict on a call that waited for an approval; `approved`: the agent runs it now. */
export type DecidedCall = WantedCall &
  (
    | { readonly verdict: 'approved'; readonly by: GivenApproval['by'] }
    | { readonly verdict: Exclude<Verdict, 'approved'> }
  );

/** The pictures of earlier turns. */
export type EarlierPictures = ReadonlyMap<TurnRow, readonly Picture[]>;

/**
 * One message for a brain to answer. `text`: the message's text without its session trigger. A
 * private message makes the turn private, even for a public brain. Only local models see the
 * private turns of the history.
 */
export type Turn = {
  readonly message: Message;
  readonly text: string;
  /** Oldest first. */
  readonly history: readonly TurnRow[];
  /** The number of the session within the conversation; absent: there is only one session. */
  readonly session?: number;
  /**
   * The time of the last cut of the history's window, or of the session's start: milliseconds
   * since 1970. Absent: unknown.
   */
  readonly windowAt?: number;
  /** The message's attachments as svc read them; absent: none, or svc fetched none. */
  readonly attachments?: readonly Attachment[];
  /** The quoted message. Models see it by its sensitivity label, like a turn. Absent: none. */
  readonly quoted?: QuotedBlock;
  /** Loads the pictures of the history, for models with vision; never rejects. Absent: none. */
  readonly pictured?: () => Promise<EarlierPictures>;
  /**
   * The conversation that an API client brought along; then `history` is empty, and `pictured` is
   * absent, because the pictures are in these lines. Absent: svc's own memory of the conversation
   * counts.
   */
  readonly given?: GivenConversation;
  /** The decided call with which the turn begins, before the first model call; absent: none. */
  readonly followed?: DecidedCall;
};

/** The only way in which a thinking brain may act on its surroundings. */
export interface TurnContext {
  /** True in a dry run: calls of tools that reach out are recorded and not run. */
  readonly dryRun: boolean;
  readonly stop: Stop;
  readonly deadlineAt: SteadyTime;
  /** Checks and charges every model call. */
  readonly budgetGuard: BudgetGuard;
  /** The key of the conversation, unique over all channels; absent in a dry run. */
  readonly conversation?: string;
  /**
   * Shows the person the whole reply so far, while a model still writes it. An error in it does
   * not affect the reply. Absent: the channel shows no preview.
   */
  readonly show?: ((whole: string) => void) | undefined;
  addStep(step: TraceStep): void;
  /** Makes the results of this turn private, because the turn used private text. */
  becomePrivate(): void;
  /** Hides unanswered turns of the history from all later turns. */
  leaveOut(turns: readonly TurnRow[]): void;
  /** Marks unanswered turns with which a model failed once; the failure may be chance. */
  markSuspected(turns: readonly TurnRow[]): void;
  /** Keeps answers that are not the reply, for the operator. */
  keepUnsent(answers: readonly UnsentAnswer[]): void;
  /** @returns the notes of that scope, oldest first, without the notes of this turn */
  notes(scope: NoteScope): Promise<readonly Note[]>;
  /** Changes notes. The change takes effect in the turn's commit. */
  keep(move: NoteMove): void;
  /** Called before a tool runs that changes another system; see the ledger's `calls`. */
  logCall(call: BegunCall): Promise<LoggedCall>;
  logCallEnd(key: string, ending: CallEnding): void;
  /** The calls that earlier runs of this message began; see the ledger's `calls`. */
  earlierCalls(): Promise<readonly EarlierCall[]>;
  /** Lets a call wait for an approval after this turn, if the turn ends with `question`. */
  ask(call: WantedCall): Promise<AskAnswer>;
  /** The text that tells the person about the calls that wait for an approval. */
  question(): string;
  /**
   * Records one call for the audit, with any outcome.
   * @param resultText the text that the model got as the result
   */
  recordToolUse(use: ToolUse, resultText: string): void;
}
