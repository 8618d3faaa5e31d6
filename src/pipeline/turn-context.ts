/**
 * What a brain may do during a real turn. The context collects the notes, tool uses and questions
 * of the turn, and they are written in the turn's commit.
 */
import type { Brain, TurnContext, Turn } from '../brains/brain.ts';
import type { Approval, AskAnswer, WantedCall } from '../domain/approval.ts';
import type { ApprovalId } from '../domain/ids.ts';
import type { Events } from '../domain/event.ts';
import {
  windowOf,
  type QuotedBlock,
  type SessionMove,
  type TurnRow,
} from '../domain/conversation.ts';
import { keptText } from '../domain/kept-text.ts';
import type { Note, NoteMove, NoteScope } from '../domain/note.ts';
import type {
  BegunCall,
  CallEnding,
  EarlierCall,
  LoggedCall,
  ToolUseWithResult,
  ToolUse,
} from '../domain/tool-use.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { BudgetGuard } from '../domain/spend.ts';
import type { UnsentAnswer } from '../domain/story.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { SteadyTime } from '../lib/clock.ts';
import type { Stop } from '../lib/stop.ts';
import type { Effects, InClaim } from '../ledger/ledger.ts';
import { describeQuestion } from './approvals/sentences.ts';
import { approvalsOpenMax, approversOf, newApproval, openApprovals } from './approvals/request.ts';
import type { Deps } from './deps.ts';
import { createBudgetGuard } from './budget-guard.ts';

/** At most so many calls of one turn may wait for approval. */
const callsAskedMax = 4;

type TurnContextDeps = Pick<Deps, 'ledger' | 'ids' | 'now'> & {
  readonly events: Pick<Events, 'toolUsed' | 'modelSpent' | 'budgetReached' | 'budgetRefused'>;
};

/** The call that the turn continues with. `said` takes the place of a person's message. */
type FollowedCall = { readonly approval: Approval; readonly said: string };

/** The history that a brain is shown of the session, and the time at which its window begins. */
export type VisibleHistory = Pick<Turn, 'history' | 'session' | 'windowAt'>;

/** The turn context of a real turn: collects what the brain does, for the commit of the turn. */
export class PipelineTurnContext implements TurnContext {
  readonly dryRun = false;
  readonly stop: Stop;
  readonly deadlineAt: SteadyTime;
  readonly steps: TraceStep[] = [];
  readonly leftOut: TurnRow[] = [];
  readonly doubted: TurnRow[] = [];
  /** Of everything that comes of this turn; it never becomes weaker. */
  sensitivity: Sensitivity;
  noteMoves: NoteMove[] | null = null;
  toolUses: ToolUseWithResult[] | null = null;
  unsent: readonly UnsentAnswer[] | null = null;
  asked: Approval[] | null = null;
  followed: FollowedCall | null = null;
  /** Set while a client watches the reply grow. */
  show: ((whole: string) => void) | undefined;
  /** The platform's message that shows the reply so far, maybe from an earlier run; null: none. */
  shownAs: string | null;
  /** A call with an effect outside has begun, now or in an earlier run. */
  hasActed = false;
  /** How long after the turn began its brain was asked. The brain counts its steps from there. */
  thinksAfterMs = 0;
  /** The text that later turns remember as said; null: the message's text alone. */
  remembered: string | null = null;
  /**
   * Set when the brain's window was cut for this turn; null: the window begins where it did before.
   */
  window: NonNullable<Effects['window']> | null = null;
  /** The message that this message replies to; null: none. */
  quoted: QuotedBlock | null = null;
  readonly #deps: TurnContextDeps;
  readonly #claim: InClaim;
  readonly #brain: Pick<Brain, 'name' | 'agent' | 'budget' | 'historyBounds'>;
  #budgetGuard: BudgetGuard | null = null;

  /** @param label of what is asked: a turn that is asked again has its own, not the command's */
  constructor(
    deps: TurnContextDeps,
    claim: InClaim,
    brain: Pick<Brain, 'name' | 'agent' | 'sensitivity' | 'budget' | 'historyBounds'>,
    deadlineAt: SteadyTime,
    label: Sensitivity = claim.message.sensitivity,
  ) {
    this.#deps = deps;
    this.#claim = claim;
    this.#brain = brain;
    this.shownAs = claim.message.preview ?? null;
    this.sensitivity = strictest(label, brain.sensitivity);
    this.stop = claim.stop;
    this.deadlineAt = deadlineAt;
  }

  get conversation(): string {
    const { channel, conversation } = this.#claim.message;
    return `${channel}\0${conversation}`;
  }

  /** Created at first use: a command asks no model. */
  get budgetGuard(): BudgetGuard {
    return (this.#budgetGuard ??= this.#openBudgetGuard());
  }

  /** @param move set when the session ends before this turn; null: the session continues */
  historyFor(move: SessionMove | null): VisibleHistory {
    const { turns, windows, session } = this.#claim.memory;
    const { number } = session;
    if (move !== null) return { history: [], session: number + 1, windowAt: move.at };
    const { name, historyBounds: bounds } = this.#brain;
    const known = windows.get(name) ?? null;
    const { turns: history, start, isCut } = windowOf(turns, known, bounds, this.#deps.now());
    if (isCut && start !== null) this.window = { brain: name, start };
    return { history, session: number, windowAt: start?.at ?? session.startedAt };
  }

  addStep(step: TraceStep): void {
    const isBrainStep = 'startMs' in step && this.thinksAfterMs > 0;
    this.steps.push(isBrainStep ? { ...step, startMs: step.startMs + this.thinksAfterMs } : step);
  }

  becomePrivate(): void {
    this.sensitivity = 'private';
  }

  leaveOut(turns: readonly TurnRow[]): void {
    this.leftOut.push(...turns);
  }

  markSuspected(turns: readonly TurnRow[]): void {
    this.doubted.push(...turns);
  }

  keepUnsent(answers: readonly UnsentAnswer[]): void {
    this.unsent = answers;
  }

  notes(scope: NoteScope): Promise<readonly Note[]> {
    return this.#deps.ledger.notes(this.#claim, scope);
  }

  keep(move: NoteMove): void {
    (this.noteMoves ??= []).push(move);
  }

  logCall(call: BegunCall): Promise<LoggedCall> {
    this.hasActed = true;
    return this.#deps.ledger.calls.logCall(this.#claim, call);
  }

  logCallEnd(key: string, ending: CallEnding): void {
    this.#deps.ledger.calls.logCallEnd(this.#claim, key, ending);
  }

  async earlierCalls(): Promise<readonly EarlierCall[]> {
    const calls = await this.#deps.ledger.calls.earlierCalls(this.#claim);
    this.hasActed ||= calls.length > 0;
    return calls;
  }

  /** Never rejects: when the waiting calls cannot be read, one of them could be this very call. */
  async ask(wanted: WantedCall): Promise<AskAnswer> {
    const { ledger, ids, now } = this.#deps;
    const asked = this.asked ?? [];
    const open = await openApprovals(ledger, now());
    if (open === null) return 'unread';
    const { message } = this.#claim;
    const { channel, conversation } = message;
    const isSame = (one: Approval): boolean =>
      one.hash === wanted.hash && one.channel === channel && one.conversation === conversation;
    // The model already knows about the call that this turn follows.
    const others = open.filter(({ id }) => id !== message.approval);
    if ([...asked, ...others].some(isSame)) return 'waits';
    if (asked.length >= callsAskedMax || open.length >= approvalsOpenMax) return 'too_many';
    const { name, agent } = this.#brain;
    const approval = newApproval(wanted, message, {
      id: ids.message() as string as ApprovalId,
      brain: name,
      at: now(),
      waitMs: agent?.asking?.waitMs ?? 0,
    });
    (this.asked ??= []).push(approval);
    return 'asked';
  }

  question(): string {
    const { channel } = this.#claim.message;
    const { here, elsewhere } = approversOf(this.#brain.agent, channel);
    return describeQuestion(this.asked ?? [], here, elsewhere);
  }

  recordToolUse(use: ToolUse, told: string): void {
    (this.toolUses ??= []).push({ ...use, told: keptText(told) });
    const { channel, id } = this.#claim.message;
    const { tool, mode, rule, outcome, ms } = use;
    this.#deps.events.toolUsed({
      channel,
      id,
      brain: this.#brain.name,
      tool,
      mode,
      rule,
      outcome,
      ms,
    });
  }

  #openBudgetGuard(): BudgetGuard {
    const { ledger, events, now } = this.#deps;
    const { channel, sender } = this.#claim.message;
    return createBudgetGuard(
      { book: ledger.spend, events, now },
      { brain: this.#brain, sender: { channel, id: sender.id } },
    );
  }
}
