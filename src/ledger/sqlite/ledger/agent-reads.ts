/**
 * What is read of an agent's memory: notes, the last uses of tools, and the calls that were begun.
 * Notes are read from the disk each time: a note of a brain may have been made in any of its
 * conversations, and a turn asks once, before its first model call.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Note, NoteScope } from '../../../domain/note.ts';
import type { Message } from '../../../domain/message.ts';
import { toolOutcomes, type ToolUse } from '../../../domain/tool-use.ts';
import type { RunningCall } from '../../engine/begun-calls.ts';
import type { Labels } from './sensitivity-labels.ts';
import { toolUseOf, type ToolUseRecord } from '../../read/agents.ts';
import { toolUseColumns } from '../read/agents.ts';

const noteColumns = 'SELECT channel, at, text, private FROM notes';

type NoteRecord = {
  readonly channel: string;
  readonly at: number;
  readonly text: string;
  readonly private: number | null;
};

export class AgentReads {
  readonly #notesHere: StatementSync;
  readonly #notesOfBrain: StatementSync;
  readonly #uses: StatementSync;
  readonly #calls: StatementSync;

  readonly #labels: Labels;

  /** @param reader a connection that only reads */
  constructor(reader: DatabaseSync, labels: Labels) {
    this.#labels = labels;
    this.#notesHere = reader.prepare(
      `${noteColumns} WHERE brain IS NULL AND channel = ? AND conversation = ? ORDER BY seq`,
    );
    this.#notesOfBrain = reader.prepare(`${noteColumns} WHERE brain = ? ORDER BY seq`);
    this.#uses = reader.prepare(
      `SELECT ${toolUseColumns} FROM tool_uses WHERE channel = ? AND conversation = ? ` +
        'ORDER BY seq DESC LIMIT ?',
    );
    this.#calls = reader.prepare(
      "SELECT c.key, c.hash, c.tool, coalesce(u.arguments, '') AS arguments, c.text, c.outcome, " +
        'c.ms, c.private FROM tool_calls AS c LEFT JOIN tool_uses AS u ON u.key = c.key ' +
        'WHERE c.message_id = ? ORDER BY u.seq, c.key',
    );
  }

  notes({ channel, conversation }: Message, scope: NoteScope): readonly Note[] {
    const rows =
      scope.kind === 'brain'
        ? this.#notesOfBrain.all(scope.brain)
        : this.#notesHere.all(channel, conversation);
    const notes = rows as unknown as readonly NoteRecord[];
    return notes.map(({ at, text, private: label, channel: place }) => {
      return { at, text, sensitivity: this.#labels.of(label, place) };
    });
  }

  /** The last n of the conversation, newest first. */
  toolUses({ channel, conversation }: Message, n: number): readonly ToolUse[] {
    const rows = this.#uses.all(channel, conversation, n) as unknown as ToolUseRecord[];
    return rows.map((row) => {
      const { key, at, ms, tool, mode, rule, outcome } = toolUseOf(row);
      return { key, at, ms, tool, mode, rule, outcome, arguments: row.arguments };
    });
  }

  /** What was begun for a message, oldest first. */
  callsOf({ id, channel }: Message): readonly RunningCall[] {
    return this.#calls.all(id).map((row) => {
      const { key, hash, tool, arguments: given, text, outcome, ms, private: label } = row;
      const known = toolOutcomes.find((one) => one === outcome) ?? 'unknown';
      return {
        key: String(key),
        hash: String(hash),
        tool: String(tool),
        arguments: String(given),
        sensitivity: this.#labels.of(label === null ? null : Number(label), channel),
        ending: text === null ? null : { text: String(text), outcome: known, ms: Number(ms) },
      };
    });
  }
}
