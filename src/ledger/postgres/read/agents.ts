/** What agents keep: notes, and the audit of their tools. */
import type { NotesOf, NoteText } from '../../../domain/note.ts';
import { pageRowsMax, type Page, type PageAsked } from '../../../domain/page.ts';
import type { ToolUseRow, ToolUseText } from '../../../domain/tool-use.ts';
import { emptyPage, keyAfter, limitOf, pageOf } from '../../pages.ts';
import { toolUseOf, toolUseTextOf, type ToolUseRecord } from '../../read/agents.ts';
import { fromText } from '../server/text.ts';
import { num, placed, whole, type Ask } from './ask.ts';

const noteColumns = `SELECT channel, conversation, ${num('at', 'at')}, text FROM svc.note`;
const newest = `ORDER BY seq DESC LIMIT ${pageRowsMax}`;
const notesOfBrain = `${noteColumns} WHERE brain = $1 ${newest}`;
const ofConversation = 'brain IS NULL AND channel = $1 AND conversation = $2';
const notesOfConversation = `${noteColumns} WHERE ${ofConversation} ${newest}`;

/** A scope has a hundred notes at most, unless another program wrote some. */
export async function listNotes(ask: Ask, of: NotesOf): Promise<readonly NoteText[]> {
  const rows = await (of.kind === 'brain'
    ? ask<NoteText>(notesOfBrain, of.brain)
    : ask<NoteText>(notesOfConversation, of.channel, of.conversation));
  return rows.map((row) => ({ ...placed(row), text: fromText(row.text) })).reverse();
}

/** Before every row. */
const beforeAll: [number] = [Number.MAX_SAFE_INTEGER];

const columns =
  `${num('seq', 'seq')}, key, message_id AS "messageId", channel, conversation, ` +
  `${num('at', 'at')}, ms::numeric, tool, mode, rule, outcome, arguments, told`;
// The column, and not what is told of it: the key is in its order.
const usesBehind = 'WHERE seq < $1 ORDER BY tool_use.seq DESC LIMIT $2';
const uses = `SELECT ${columns} FROM svc.tool_use ${usesBehind}`;
const usesOf =
  `SELECT ${columns} FROM svc.tool_use WHERE message_id = $1 ` +
  `ORDER BY tool_use.seq LIMIT ${pageRowsMax}`;
const use = `SELECT ${columns} FROM svc.tool_use WHERE key = $1`;

export async function listToolUses(ask: Ask, asked: PageAsked): Promise<Page<ToolUseRow>> {
  const limit = limitOf(asked);
  const after = keyAfter(asked, beforeAll);
  if (after === null) return emptyPage;
  const rows = await ask<ToolUseRecord>(uses, whole(after[0]), limit + 1);
  return pageOf(
    rows,
    limit,
    ({ seq }) => [seq],
    (row) => toolUseOf(readable(row)),
  );
}

export async function findToolUse(ask: Ask, key: string): Promise<ToolUseText | null> {
  const [found] = await ask<ToolUseRecord>(use, key);
  return found === undefined ? null : toolUseTextOf(readable(found));
}

/** Those of one message, in their order. */
export async function listUsesOf(ask: Ask, messageId: string): Promise<readonly ToolUseRecord[]> {
  return (await ask<ToolUseRecord>(usesOf, messageId)).map(readable);
}

function readable(row: ToolUseRecord): ToolUseRecord {
  const [key, tool, rule] = [fromText(row.key), fromText(row.tool), fromText(row.rule)];
  const told = row.told === null ? null : fromText(row.told);
  return { ...placed(row), key, tool, rule, arguments: fromText(row.arguments), told };
}
