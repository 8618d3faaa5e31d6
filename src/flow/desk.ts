import type { Brain, Desk } from '../brain/brain.ts';
import type { Events } from '../domain/event.ts';
import type { TurnRow } from '../domain/conversation.ts';
import { keptText } from '../domain/kept-text.ts';
import type { Note, NoteMove, NoteScope } from '../domain/note.ts';
import type {
  BegunCall,
  CallEnding,
  EarlierCall,
  Journaled,
  ToldUse,
  ToolUse,
} from '../domain/tool-use.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { Purse } from '../domain/spend.ts';
import type { UnsentAnswer } from '../domain/story.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { SteadyTime } from '../lib/clock.ts';
import type { Stop } from '../lib/stop.ts';
import type { InClaim, Ledger } from '../store/store.ts';
import { createPurse } from './purse.ts';

type DeskKit = {
  readonly ledger: Ledger;
  readonly events: Pick<Events, 'toolUsed' | 'modelSpent' | 'budgetReached'>;
  readonly now: () => number;
};

/** The desk of one turn: what a brain does there is gathered, and written with the turn's end. */
export class TurnDesk implements Desk {
  readonly rehearsal = false;
  readonly stop: Stop;
  readonly deadlineAt: SteadyTime;
  readonly steps: TraceStep[] = [];
  readonly leftOut: TurnRow[] = [];
  readonly doubted: TurnRow[] = [];
  /** Of what comes of this turn; it never becomes weaker. */
  sensitivity: Sensitivity;
  noteMoves: NoteMove[] | null = null;
  toolUses: ToldUse[] | null = null;
  unsent: readonly UnsentAnswer[] | null = null;
  readonly #kit: DeskKit;
  readonly #claim: InClaim;
  readonly #brain: Pick<Brain, 'name' | 'budget'>;
  #purse: Purse | null = null;

  constructor(
    kit: DeskKit,
    claim: InClaim,
    brain: Pick<Brain, 'name' | 'sensitivity' | 'budget'>,
    deadlineAt: SteadyTime,
  ) {
    this.#kit = kit;
    this.#claim = claim;
    this.#brain = brain;
    this.sensitivity = strictest(claim.message.sensitivity, brain.sensitivity);
    this.stop = claim.stop;
    this.deadlineAt = deadlineAt;
  }

  /** Made when it is needed: a command asks no model. */
  get purse(): Purse {
    return (this.#purse ??= this.#openPurse());
  }

  addStep(step: TraceStep): void {
    this.steps.push(step);
  }

  becomePrivate(): void {
    this.sensitivity = 'private';
  }

  leaveOut(turns: readonly TurnRow[]): void {
    this.leftOut.push(...turns);
  }

  doubt(turns: readonly TurnRow[]): void {
    this.doubted.push(...turns);
  }

  keepUnsent(answers: readonly UnsentAnswer[]): void {
    this.unsent = answers;
  }

  notes(scope: NoteScope): Promise<readonly Note[]> {
    return this.#kit.ledger.notes(this.#claim, scope);
  }

  keep(move: NoteMove): void {
    (this.noteMoves ??= []).push(move);
  }

  journal(call: BegunCall): Promise<Journaled> {
    return this.#kit.ledger.calls.journal(this.#claim, call);
  }

  journalEnd(key: string, ending: CallEnding): void {
    this.#kit.ledger.calls.journalEnd(this.#claim, key, ending);
  }

  earlierCalls(): Promise<readonly EarlierCall[]> {
    return this.#kit.ledger.calls.earlierCalls(this.#claim);
  }

  used(use: ToolUse, told: string): void {
    (this.toolUses ??= []).push({ ...use, told: keptText(told) });
    const { channel, id } = this.#claim.message;
    const { tool, mode, rule, outcome, ms } = use;
    this.#kit.events.toolUsed({
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

  #openPurse(): Purse {
    const { ledger, events, now } = this.#kit;
    const { channel, sender } = this.#claim.message;
    return createPurse(
      { book: ledger.spend, events, now },
      { brain: this.#brain, sender: { channel, id: sender.id } },
    );
  }
}
