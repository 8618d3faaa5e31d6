/** What is read of an agent's memory: notes, the last uses of tools, and calls that were begun. */
import type { Note, NoteScope } from '../../../domain/note.ts';
import type { Message } from '../../../domain/message.ts';
import { grantModes, toolOutcomes, type ToolOutcome } from '../../../domain/tool-use.ts';
import type { CallEnding, ToolUse } from '../../../domain/tool-use.ts';
import type { RunningCall } from '../../engine/begun-calls.ts';
import type { Reads } from '../deps.ts';
import { fromText, toText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';

const noteColumns = 'SELECT at, text, private FROM svc.note';
const here = 'brain IS NULL AND channel = $1 AND conversation = $2';
const notesHere = `${noteColumns} WHERE ${here} ORDER BY seq`;
const notesOfBrain = `${noteColumns} WHERE brain = $1 ORDER BY seq`;
const uses =
  'SELECT key, at, ms::numeric, tool, mode, rule, outcome, arguments FROM svc.tool_use ' +
  'WHERE channel = $1 AND conversation = $2 ORDER BY seq DESC LIMIT $3';
const calls =
  "SELECT c.key, c.hash, c.tool, coalesce(u.arguments, '') AS arguments, c.text, c.outcome, " +
  'c.ms::numeric, c.private FROM svc.tool_call AS c LEFT JOIN svc.tool_use AS u ON u.key = c.key ' +
  'WHERE c.message_id = $1 ORDER BY u.seq, c.key';

export class AgentReads {
  readonly #reads: Reads;

  constructor(reads: Reads) {
    this.#reads = reads;
  }

  /** Oldest first. */
  async notes({ channel, conversation }: Message, scope: NoteScope): Promise<readonly Note[]> {
    const rows = await this.#reads.ask(
      scope.kind === 'brain'
        ? { text: notesOfBrain, values: [toText(scope.brain)] }
        : { text: notesHere, values: [channel, toText(conversation)] },
    );
    return rows.map(({ at, text, private: label }) => {
      const sensitivity = label === true ? 'private' : 'public';
      return { at: Number(at), text: fromText(String(text)), sensitivity };
    });
  }

  /** The last n of the conversation, newest first. */
  async toolUses({ channel, conversation }: Message, n: number): Promise<readonly ToolUse[]> {
    const values = [channel, toText(conversation), n];
    const rows = await this.#reads.ask({ text: uses, values });
    return rows.map((row) => ({
      key: fromText(String(row['key'])),
      at: Number(row['at']),
      ms: Number(row['ms']),
      tool: fromText(String(row['tool'])),
      mode: grantModes.find((mode) => mode === row['mode']) ?? 'deny',
      rule: fromText(String(row['rule'])),
      outcome: outcomeOf(row['outcome']),
      arguments: fromText(String(row['arguments'])),
    }));
  }

  /** What was begun for a message, oldest first. */
  async callsOf({ id }: Message): Promise<readonly RunningCall[]> {
    const rows = await this.#reads.ask({ text: calls, values: [id] });
    return rows.map((row) => ({
      key: fromText(String(row['key'])),
      hash: String(row['hash']),
      tool: fromText(String(row['tool'])),
      arguments: fromText(String(row['arguments'])),
      sensitivity: row['private'] === true ? 'private' : 'public',
      ending: endingOf(row),
    }));
  }
}

/** Null: its end was not seen. */
function endingOf({ text, outcome, ms }: Rows[number]): CallEnding | null {
  if (typeof text !== 'string') return null;
  return { text: fromText(text), outcome: outcomeOf(outcome), ms: Number(ms) };
}

function outcomeOf(stored: unknown): ToolOutcome {
  return toolOutcomes.find((one) => one === stored) ?? 'unknown';
}
