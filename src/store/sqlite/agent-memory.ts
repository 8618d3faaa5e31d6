/**
 * What a turn may ask of its agent's memory: notes, the last uses of tools, and whether a call may
 * run. Notes are read from the disk each time: a note of a brain may have been made in any of its
 * conversations, and a turn asks once, before its first model call.
 */
import type { StatementSync } from 'node:sqlite';
import type { Note, NoteScope } from '../../domain/note.ts';
import type { Journaled, ToolUse } from '../../domain/tool-use.ts';
import type { OpenClaims } from '../claims.ts';
import type { InClaim } from '../store.ts';
import type { Journal } from './journal.ts';
import type { DurableParts } from './parts.ts';
import { toolUseOf, toolUseColumns, type ToolUseRecord } from './read/agents.ts';

/** One call as far as it has been told; `text` null: it has begun. */
type Call = { readonly tool: string; readonly text: string | null };

export class AgentMemory {
  readonly #open: OpenClaims;
  readonly #journal: Journal;
  readonly #notesHere: StatementSync;
  readonly #notesOfBrain: StatementSync;
  readonly #uses: StatementSync;
  readonly #call: StatementSync;
  /** By key: what has been told and is not on the disk yet. */
  readonly #underWay = new Map<string, Call>();

  constructor({ journal, reader }: Pick<DurableParts, 'journal' | 'reader'>, open: OpenClaims) {
    this.#open = open;
    this.#journal = journal;
    this.#notesHere = reader.prepare(
      'SELECT at, text FROM notes WHERE brain IS NULL AND channel = ? AND conversation = ? ' +
        'ORDER BY seq',
    );
    this.#notesOfBrain = reader.prepare('SELECT at, text FROM notes WHERE brain = ? ORDER BY seq');
    this.#uses = reader.prepare(
      `SELECT ${toolUseColumns} FROM tool_uses WHERE channel = ? AND conversation = ? ` +
        'ORDER BY seq DESC LIMIT ?',
    );
    this.#call = reader.prepare('SELECT tool, text FROM tool_calls WHERE key = ?');
  }

  notes(claim: InClaim, scope: NoteScope): readonly Note[] {
    if (!this.#open.has(claim)) return [];
    const { channel, conversation } = claim.message;
    const rows =
      scope.kind === 'brain'
        ? this.#notesOfBrain.all(scope.brain)
        : this.#notesHere.all(channel, conversation);
    return rows.map(({ at, text }) => ({ at: Number(at), text: String(text) }));
  }

  toolUses(claim: InClaim, n: number): readonly ToolUse[] {
    if (!this.#open.has(claim)) return [];
    const { channel, conversation } = claim.message;
    const rows = this.#uses.all(channel, conversation, n) as unknown as ToolUseRecord[];
    return rows.map((row) => {
      const { key, at, ms, tool, mode, rule, outcome } = toolUseOf(row);
      return { key, at, ms, tool, mode, rule, outcome, arguments: row.arguments };
    });
  }

  /** What was begun is on the disk before it may run. */
  async journal(claim: InClaim, key: string, tool: string): Promise<Journaled> {
    if (!this.#open.has(claim)) return { kind: 'unknown' };
    const before = this.#underWay.get(key) ?? (this.#call.get(key) as Call | undefined);
    if (before !== undefined) {
      const text = before.tool === tool ? before.text : null;
      return text === null ? { kind: 'unknown' } : { kind: 'done', text };
    }
    const begun: Call = { tool, text: null };
    this.#underWay.set(key, begun);
    this.#journal.add(['toolBegun', key, claim.message.id, tool]);
    const written = await new Promise<boolean>((resolve) => {
      this.#journal.flush(
        (known) => resolve(known !== null),
        () => resolve(false),
      );
    });
    this.#settle(key, begun);
    return { kind: written && this.#open.has(claim) ? 'run' : 'unknown' };
  }

  /** Also for a claim that is over: what is known of the call does not depend on it. */
  journalEnd(key: string, text: string): void {
    const begun = this.#underWay.get(key) ?? (this.#call.get(key) as Call | undefined);
    if (begun === undefined) return;
    const ended: Call = { tool: begun.tool, text };
    this.#underWay.set(key, ended);
    this.#journal.add(['toolEnded', text, key]);
    this.#journal.flushSoon(() => this.#settle(key, ended));
  }

  #settle(key: string, call: Call): void {
    if (this.#underWay.get(key) === call) this.#underWay.delete(key);
  }
}
