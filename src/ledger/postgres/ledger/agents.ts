/** Reads for agents: notes, the last tool uses, and begun calls. Below: stored attachments. */
import type { Note, NoteScope } from '../../../domain/note.ts';
import type { Message } from '../../../domain/message.ts';
import {
  grantModes,
  toolOutcomes,
  type ToolOutcome,
  type CallEnding,
  type ToolUse,
} from '../../../domain/tool-use.ts';
import type { RunningCall, StoredAttachments } from '../../engine/storage.ts';
import {
  attachmentOf,
  attachmentRows,
  byMessage,
  pictureOf,
  idLagMs,
} from '../../engine/bodies.ts';
import type { Reads, PostgresBatches } from '../deps.ts';
import { fromText, toText } from '../server/text.ts';
import type { Rows } from '../write/statement.ts';
import { timeText } from '../../../domain/ids.ts';

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

  /** The notes of a scope, oldest first. */
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

  /** The last `n` tool uses of the conversation, newest first. */
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

  /** The calls that were begun for a message, oldest first. */
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

/** @returns null: the end of the call is unknown */
function endingOf({ text, outcome, ms }: Rows[number]): CallEnding | null {
  if (typeof text !== 'string') return null;
  return { text: fromText(text), outcome: outcomeOf(outcome), ms: Number(ms) };
}

function outcomeOf(stored: unknown): ToolOutcome {
  return toolOutcomes.find((one) => one === stored) ?? 'unknown';
}

/** Stores nothing when another transaction deletes the message at the same time. */
const keep = `
WITH kept AS (
  SELECT id, channel, conversation, private FROM svc.inbox WHERE id = $1
  FOR KEY SHARE SKIP LOCKED
), gone AS (
  DELETE FROM svc.attachment USING kept WHERE message_id = kept.id AND place >= $3
)
INSERT INTO svc.attachment
  (message_id, place, channel, conversation, kind, name, type, private, content)
SELECT kept.id, x.place, kept.channel, kept.conversation, x.kind, x.name, x.type,
  kept.private OR $4, x.content
FROM kept CROSS JOIN json_to_recordset($2) AS x(place integer, kind text, name text, type text,
  content text)
ON CONFLICT (message_id, place) DO UPDATE SET kind = excluded.kind, name = excluded.name,
  type = excluded.type, private = excluded.private, content = excluded.content`;

const ofMessage =
  'SELECT kind, name, type, content FROM svc.attachment WHERE message_id = $1 ORDER BY place';

const pictures = `
SELECT a.type, a.content, a.private, m.accepted_at AS at
FROM svc.attachment AS a JOIN svc.message AS m ON m.id = a.message_id
WHERE a.kind = 'picture' AND a.channel = $1 AND a.conversation = $2 AND a.message_id >= $3
  AND m.accepted_at >= $4
ORDER BY a.message_id DESC, a.place DESC LIMIT $5`;

const ofTime = `
SELECT a.message_id, a.kind, a.name, a.type, a.content
FROM svc.attachment AS a JOIN svc.message AS m ON m.id = a.message_id
WHERE a.message_id >= $1 AND a.message_id < $2 AND a.channel = $3 AND a.conversation = $4
  AND m.accepted_at = $5
ORDER BY a.message_id, a.place`;

export function storedAttachments(reads: Reads, batches: PostgresBatches): StoredAttachments {
  return {
    keep({ id, sensitivity }, attachments) {
      const rows = attachmentRows(attachments).map((row) => {
        return { ...row, name: toText(row.name), content: toText(row.content) };
      });
      // A merged message is as private as any of its parts.
      const isPrivate = sensitivity === 'private';
      const values = [id, JSON.stringify(rows), rows.length, isPrivate];
      batches.add({ kind: 'single', text: keep, values });
      return batches.writtenNow();
    },
    async of({ id }) {
      const rows = await reads.ask({ text: ofMessage, values: [id] });
      return rows.map((row) => attachmentOf(readable(row)));
    },
    async acceptedAt({ channel, conversation }, at) {
      const first = timeText(Math.max(0, at - idLagMs));
      const end = timeText(at + 1);
      const values = [first, end, channel, toText(conversation), at];
      return byMessage((await reads.ask({ text: ofTime, values })).map(readable));
    },
    async picturesSince({ channel, conversation }, since, n) {
      const first = timeText(Math.max(0, since - idLagMs));
      const values = [channel, toText(conversation), first, since, n];
      const rows = await reads.ask({ text: pictures, values });
      return rows.map(({ at, type, private: label, content }) => ({
        at: Number(at),
        sensitivity: label === false ? 'public' : 'private',
        picture: pictureOf(type, String(content)),
      }));
    },
  };
}

function readable(row: Record<string, unknown>): Record<string, unknown> {
  const [name, content] = [row['name'], row['content']].map((text) => fromText(String(text)));
  return { ...row, name, content };
}
