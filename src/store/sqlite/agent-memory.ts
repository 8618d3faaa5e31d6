/**
 * What a turn may ask of its agent's memory: notes, the last uses of tools, and whether a call may
 * run. Notes are read from the disk each time: a note of a brain may have been made in any of its
 * conversations, and a turn asks once, before its first model call.
 */
import type { StatementSync } from 'node:sqlite';
import type { Note, NoteScope } from '../../domain/note.ts';
import type { Message } from '../../domain/message.ts';
import { toolOutcomes } from '../../domain/tool-use.ts';
import type {
  BegunCall,
  CallEnding,
  EarlierCall,
  Journaled,
  ToolUse,
} from '../../domain/tool-use.ts';
import { BegunCalls, type KeptCall } from '../begun-calls.ts';
import type { CallJournal } from '../call-journal.ts';
import type { OpenClaims } from '../claims.ts';
import type { InClaim } from '../store.ts';
import { toolUseWrites } from './agent-writes.ts';
import type { Journal } from './journal.ts';
import type { DurableParts } from './parts.ts';
import { toolUseOf, toolUseColumns, type ToolUseRecord } from './read/agents.ts';

export class AgentMemory implements CallJournal<InClaim> {
  readonly #open: OpenClaims;
  readonly #journal: Journal;
  readonly #notesHere: StatementSync;
  readonly #notesOfBrain: StatementSync;
  readonly #uses: StatementSync;
  readonly #calls: StatementSync;
  readonly #rows: DurableParts['rows'];
  readonly #begun = new BegunCalls((message) => this.#load(message));

  constructor(
    { journal, reader, rows }: Pick<DurableParts, 'journal' | 'reader' | 'rows'>,
    open: OpenClaims,
  ) {
    this.#open = open;
    this.#journal = journal;
    this.#rows = rows;
    this.#notesHere = reader.prepare(
      'SELECT at, text FROM notes WHERE brain IS NULL AND channel = ? AND conversation = ? ' +
        'ORDER BY seq',
    );
    this.#notesOfBrain = reader.prepare('SELECT at, text FROM notes WHERE brain = ? ORDER BY seq');
    this.#uses = reader.prepare(
      `SELECT ${toolUseColumns} FROM tool_uses WHERE channel = ? AND conversation = ? ` +
        'ORDER BY seq DESC LIMIT ?',
    );
    this.#calls = reader.prepare(
      "SELECT c.key, c.hash, c.tool, coalesce(u.arguments, '') AS arguments, c.text, c.outcome, " +
        'c.ms FROM tool_calls AS c LEFT JOIN tool_uses AS u ON u.key = c.key ' +
        'WHERE c.message_id = ? ORDER BY u.seq, c.key',
    );
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

  /** What was begun is on the disk before it may run, and in the audit. */
  async journal(claim: InClaim, call: BegunCall): Promise<Journaled> {
    if (!this.#open.has(claim)) return { kind: 'unwritten' };
    const journaled = this.#begun.begin(claim, call);
    if (journaled.kind !== 'run') return journaled;
    const { message } = claim;
    const { key, hash, ...use } = call;
    this.#journal.add(['toolBegun', key, message.id, call.tool, hash]);
    const shown: ToolUse = { ...use, key, ms: 0, outcome: 'unknown' };
    for (const write of toolUseWrites(message, [shown], () => this.#rows.nextSeq())) {
      this.#journal.add(write);
    }
    const written = await new Promise<boolean>((resolve) => {
      this.#journal.flush(
        (known) => resolve(known !== null),
        () => resolve(false),
      );
    });
    if (written && this.#open.has(claim)) return journaled;
    if (!written) this.#begun.drop(claim, key);
    return { kind: 'unwritten' };
  }

  /** Also for a claim that is over: what is known of the call does not depend on it. */
  journalEnd(claim: InClaim, key: string, ending: CallEnding): void {
    const { text, outcome, ms } = ending;
    this.#begun.end(claim, key, ending);
    this.#journal.add(['toolEnded', text, outcome, ms, key]);
    this.#journal.add(['toolUseEnded', outcome, ms, key]);
    this.#journal.flushSoon(() => {});
  }

  async earlierCalls(claim: InClaim): Promise<readonly EarlierCall[]> {
    return this.#open.has(claim) ? this.#begun.earlier(claim) : [];
  }

  #load({ id }: Message): readonly KeptCall[] {
    return this.#calls.all(id).map((row) => {
      const { key, hash, tool, arguments: given, text, outcome, ms } = row;
      const known = toolOutcomes.find((one) => one === outcome) ?? 'unknown';
      return {
        key: String(key),
        hash: String(hash),
        tool: String(tool),
        arguments: String(given),
        ending: text === null ? null : { text: String(text), outcome: known, ms: Number(ms) },
      };
    });
  }
}
