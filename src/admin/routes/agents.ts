import type { ConversationId } from '../../domain/ids.ts';
import type { NotesOf } from '../../domain/note.ts';
import type { AdminPorts } from '../admin.ts';
import { found, answerWith, type Answer } from '../http/answer.ts';
import { notesSchema, toolUsesSchema, toolUseTextSchema } from '../schemas/story.ts';
import { ambiguous, channel, onChannel } from './channel.ts';
import {
  deleted,
  deletion,
  page,
  segment,
  unread,
  readRoute,
  writeRoute,
  type Parameters,
  type Route,
  type Values,
} from './route.ts';

type Ports = Pick<AdminPorts, 'reader' | 'writes' | 'health'>;

const contentType = 'application/json';
const ofConversation = {
  channel,
  conversation: segment('The id of the conversation.'),
};
const ofBrain = { brain: segment('The name of the brain.') };
const unknown = 'No such use of a tool is kept.';

/** The notes of agents, for an operator to see and delete, and the audit of their tools. */
export function agentRoutes(ports: Ports): Route[] {
  return [
    ...notesAt(ports, {
      path: '/api/v1/notes/{channel}/{conversation}',
      parameters: ofConversation,
      summary: 'The notes that an agent keeps of one conversation',
      action: 'clear_notes',
      problems: ambiguous,
      of: ({ channel: named, conversation }, answer) =>
        onChannel(named, ports.reader, (key) => {
          const id = conversation as ConversationId;
          return answer({ kind: 'conversation', channel: key, conversation: id });
        }),
    }),
    ...notesAt(ports, {
      path: '/api/v1/brains/{brain}/notes',
      parameters: ofBrain,
      summary: 'The notes that a brain keeps of all its conversations together',
      action: 'clear_brain_notes',
      problems: {},
      of: ({ brain }, answer) => answer({ kind: 'brain', brain }),
    }),
    ...uses(ports),
  ];
}

type NotesPlace<P extends Parameters> = {
  readonly path: string;
  readonly parameters: P;
  readonly summary: string;
  readonly action: string;
  readonly problems: Readonly<Record<number, string>>;
  /** Answers about the scope that the request names. */
  readonly of: (values: Values<P>, answer: (of: NotesOf) => Promise<Answer>) => Promise<Answer>;
};

function notesAt<const P extends Parameters>(ports: Ports, place: NotesPlace<P>): Route[] {
  const { path, parameters, summary, action, of, problems } = place;
  return [
    readRoute({
      path,
      principal: 'operator',
      summary: `${summary}, oldest first.`,
      reveals: 'read_notes',
      parameters,
      contentType,
      problems: { ...unread, ...problems },
      schema: { name: 'Notes', of: notesSchema },
      answer: (values) =>
        of(values, async (notes) =>
          answerWith(notesSchema, { rows: await ports.reader.notes(notes) }),
        ),
    }),
    writeRoute({
      path,
      method: 'DELETE',
      action,
      summary: `Deletes ${summary.charAt(0).toLowerCase()}${summary.slice(1)}.`,
      parameters,
      contentType,
      schema: deletion.schema,
      problems: { ...deletion.problems, ...problems },
      answer: (values) =>
        of(values, (notes) => deleted(ports, () => ports.writes.clearNotes(notes))),
    }),
  ];
}

function uses({ reader }: Ports): Route[] {
  return [
    readRoute({
      path: '/api/v1/tool-uses',
      principal: 'reader',
      summary: 'Calls of tools without their arguments, newest first.',
      parameters: page,
      contentType,
      problems: unread,
      schema: { name: 'ToolUses', of: toolUsesSchema },
      answer: async (asked) => answerWith(toolUsesSchema, await reader.toolUses(asked)),
    }),
    readRoute({
      path: '/api/v1/tool-uses/{key}',
      principal: 'operator',
      summary: 'One call of a tool, with its arguments if there is storage.',
      reveals: 'read_tool_use',
      parameters: { key: segment('The key of the use, as the list shows it.') },
      contentType,
      problems: { ...unread, 404: unknown },
      schema: { name: 'ToolUse', of: toolUseTextSchema },
      answer: async ({ key }) => found(toolUseTextSchema, await reader.toolUse(key), unknown),
    }),
  ];
}
