/** What agents keep: notes, and the audit of their tools. */
import type { DatabaseSync } from 'node:sqlite';
import type { ChannelKey, ConversationId } from '../../../domain/ids.ts';
import type { NotesOf, NoteText } from '../../../domain/note.ts';
import { pageRowsMax, type Page, type PageAsked } from '../../../domain/page.ts';
import type { ToolUseRow, ToolUseText } from '../../../domain/tool-use.ts';
import { emptyPage, limitOf, pageOf, keyAfter } from '../../pages.ts';
import { toolUseOf, toolUseTextOf, type ToolUseRecord } from '../../read/agents.ts';

const noteColumns = 'SELECT channel, conversation, at, text FROM notes';
const newest = `ORDER BY seq DESC LIMIT ${pageRowsMax}`;

/** A scope has a hundred notes at most, unless another program wrote some. */
export function listNotes(db: DatabaseSync, of: NotesOf): readonly NoteText[] {
  const rows =
    of.kind === 'brain'
      ? db.prepare(`${noteColumns} WHERE brain = ? ${newest}`).all(of.brain)
      : db
          .prepare(
            `${noteColumns} WHERE brain IS NULL AND channel = ? AND conversation = ? ${newest}`,
          )
          .all(of.channel, of.conversation);
  return rows.reverse().map((row) => ({
    channel: String(row['channel']) as ChannelKey,
    conversation: String(row['conversation']) as ConversationId,
    at: Number(row['at']),
    text: String(row['text']),
  }));
}

/** Needed by `toolUseOf`. */
export const toolUseColumns =
  'seq, key, message_id AS messageId, channel, conversation, at, ms, tool, mode, rule, outcome, ' +
  'arguments, told';

export function listToolUses(db: DatabaseSync, asked: PageAsked): Page<ToolUseRow> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, [Number.MAX_SAFE_INTEGER]);
  if (after === null) return emptyPage;
  const rows = db
    .prepare(`SELECT ${toolUseColumns} FROM tool_uses WHERE seq < ? ORDER BY seq DESC LIMIT ?`)
    .all(...after, limit + 1) as unknown as ToolUseRecord[];
  return pageOf(rows, limit, ({ seq }) => [seq], toolUseOf);
}

export function findToolUse(db: DatabaseSync, key: string): ToolUseText | null {
  const found = db.prepare(`SELECT ${toolUseColumns} FROM tool_uses WHERE key = ?`).get(key);
  return found === undefined ? null : toolUseTextOf(found as unknown as ToolUseRecord);
}

/** Those of one message, in their order. */
export function listUsesOf(db: DatabaseSync, messageId: string): readonly ToolUseRecord[] {
  const rows = db
    .prepare(`SELECT ${toolUseColumns} FROM tool_uses WHERE message_id = ? ORDER BY seq LIMIT ?`)
    .all(messageId, pageRowsMax);
  return rows as unknown as ToolUseRecord[];
}
