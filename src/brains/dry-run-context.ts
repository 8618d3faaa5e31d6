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

/** `kept`: notes of earlier turns; those of this one are added. `show`: see `TurnContext`. */
export type DryRunDeps = readonly [
  deadlineAt: SteadyTime,
  budgetGuard: BudgetGuard,
  kept?: Note[],
  show?: TurnContext['show'],
];

/**
 * The desk for trying a brain: what it does there is recorded and changes nothing. Tools that
 * reach out are not run; notes are kept for as long as `kept` is.
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
  readonly #kept: Note[];

  constructor(stop: Stop, ...[deadlineAt, budgetGuard, kept = [], show]: DryRunDeps) {
    this.stop = stop;
    this.show = show;
    this.budgetGuard = budgetGuard;
    this.deadlineAt = deadlineAt;
    this.#kept = kept;
  }

  addStep(step: TraceStep): void {
    this.steps.push(step);
  }

  becomePrivate(): void {}

  leaveOut(turns: readonly TurnRow[]): void {
    this.leftOut.push(...turns);
  }

  doubt(): void {}

  keepUnsent(_answers: readonly UnsentAnswer[]): void {}

  notes(_scope: NoteScope): Promise<readonly Note[]> {
    return Promise.resolve([...this.#kept]);
  }

  keep(move: NoteMove): void {
    if (move.kind === 'clear') {
      this.#kept.length = 0;
      return;
    }
    this.#kept.push(move.note);
    this.#kept.splice(0, Math.max(0, this.#kept.length - move.notesMax));
  }

  logCall(): Promise<LoggedCall> {
    return Promise.resolve({ kind: 'run' });
  }

  logCallEnd(): void {}

  earlierCalls(): Promise<readonly EarlierCall[]> {
    return Promise.resolve([]);
  }

  /** No call comes to ask: it is rehearsed. */
  ask(): Promise<AskAnswer> {
    return Promise.resolve('unread');
  }

  question(): string {
    return '';
  }

  used(use: ToolUse, told: string): void {
    this.toolUses.push({ ...use, told });
  }
}
