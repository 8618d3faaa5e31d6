import type { Desk } from '../brain/brain.ts';
import type { Note, NoteMove, NoteScope } from '../domain/note.ts';
import type { Journaled, ToolUse } from '../domain/tool-use.ts';
import type { TraceStep } from '../domain/trace.ts';
import type { InClaim, Ledger } from '../store/store.ts';

/** The desk of one turn: what a brain does there is gathered, and written with the turn's end. */
export class TurnDesk implements Desk {
  readonly rehearsal = false;
  readonly signal: AbortSignal;
  readonly deadlineAt: number;
  readonly steps: TraceStep[] = [];
  noteMoves: NoteMove[] | null = null;
  toolUses: ToolUse[] | null = null;
  readonly #ledger: Ledger;
  readonly #claim: InClaim;

  constructor(ledger: Ledger, claim: InClaim, signal: AbortSignal, deadlineAt: number) {
    this.#ledger = ledger;
    this.#claim = claim;
    this.signal = signal;
    this.deadlineAt = deadlineAt;
  }

  step(step: TraceStep): void {
    this.steps.push(step);
  }

  notes(scope: NoteScope): Promise<readonly Note[]> {
    return this.#ledger.notes(this.#claim, scope);
  }

  keep(move: NoteMove): void {
    (this.noteMoves ??= []).push(move);
  }

  journal(key: string, tool: string): Promise<Journaled> {
    return this.#ledger.journal(this.#claim, key, tool);
  }

  journalEnd(key: string, text: string): void {
    this.#ledger.journalEnd(this.#claim, key, text);
  }

  used(use: ToolUse): void {
    (this.toolUses ??= []).push(use);
  }
}
