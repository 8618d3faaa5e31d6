/** The turn context of a dry run, with which a brain can be tried without any effect. */
import type { AskAnswer } from '../domain/approval.ts';
import type { TurnRow } from '../domain/conversation.ts';
import type { Note, NoteMove, NoteScope } from '../domain/note.ts';
import type { BudgetGuard } from '../domain/spend.ts';
import type { UnsentAnswer } from '../domain/story.ts';
import type { EarlierCall, LoggedCall, ToolUse } from '../domain/tool-use.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { SteadyTime } from '../lib/clock.ts';
import type { Stop } from '../lib/stop.ts';
import type { TurnContext } from './brain.ts';

/** `notes`: the notes of earlier turns; new ones are added. `show`: see `TurnContext`. */
export type DryRunDeps = readonly [
  deadlineAt: SteadyTime,
  budgetGuard: BudgetGuard,
  notes?: Note[],
  show?: TurnContext['show'],
];

/**
 * Records the actions of a brain and carries out none of them. Tools that reach out do not run.
 * Notes go into the list that the caller passes in.
 */
export class DryRunContext implements TurnContext {
  readonly dryRun = true;
  readonly stop: Stop;
  readonly deadlineAt: SteadyTime;
  readonly budgetGuard: BudgetGuard;
  readonly show: TurnContext['show'];
  readonly steps: TraceStep[] = [];
  readonly toolUses: (ToolUse & { readonly told: string })[] = [];
  readonly leftOut: TurnRow[] = [];
  readonly #notes: Note[];

  constructor(stop: Stop, ...[deadlineAt, budgetGuard, notes = [], show]: DryRunDeps) {
    this.stop = stop;
    this.show = show;
    this.budgetGuard = budgetGuard;
    this.deadlineAt = deadlineAt;
    this.#notes = notes;
  }

  addStep(step: TraceStep): void {
    this.steps.push(step);
  }

  becomePrivate(): void {}

  leaveOut(turns: readonly TurnRow[]): void {
    this.leftOut.push(...turns);
  }

  markSuspected(): void {}

  keepUnsent(_answers: readonly UnsentAnswer[]): void {}

  notes(_scope: NoteScope): Promise<readonly Note[]> {
    return Promise.resolve([...this.#notes]);
  }

  keep(move: NoteMove): void {
    if (move.kind === 'clear') {
      this.#notes.length = 0;
      return;
    }
    this.#notes.push(move.note);
    this.#notes.splice(0, Math.max(0, this.#notes.length - move.notesMax));
  }

  logCall(): Promise<LoggedCall> {
    return Promise.resolve({ kind: 'run' });
  }

  logCallEnd(): void {}

  earlierCalls(): Promise<readonly EarlierCall[]> {
    return Promise.resolve([]);
  }

  /** Never called: in a dry run no call asks for an approval. */
  ask(): Promise<AskAnswer> {
    return Promise.resolve('unread');
  }

  question(): string {
    return '';
  }

  recordToolUse(use: ToolUse, told: string): void {
    this.toolUses.push({ ...use, told });
  }
}
