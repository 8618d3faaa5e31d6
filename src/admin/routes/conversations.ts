import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import {
  sealedCharactersMax,
  type MessageOwner,
  type ConversationKey,
} from '../../domain/story.ts';
import type { AdminPorts } from '../admin.ts';
import { found, answerWith, problem, type Answer } from '../http/answer.ts';
import { conversationsSchema, conversationTextSchema, turnsSchema } from '../schemas/story.ts';
import { ambiguous, channel, onChannel } from './channel.ts';
import {
  deleted,
  deletion,
  page,
  segment,
  unread,
  readRoute,
  writeRoute,
  type Route,
  type Parameter,
} from './route.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';

/** A conversation as a path parameter, by svc's own id. */
export const byId = {
  id: {
    kind: 'segment',
    summary: 'The `id` of the conversation, as lists and messages show it.',
    charactersMax: sealedCharactersMax,
  },
} as const satisfies Record<string, Parameter>;

export const unknown = 'No such conversation is kept; without storage none is.';

/** Answers about the named conversation, or 404. */
export async function conversationWith(
  id: string,
  reader: Pick<LedgerReader, 'conversationById'>,
  answer: (where: ConversationKey) => Promise<Answer>,
): Promise<Answer> {
  const where = await reader.conversationById(id);
  return where === null ? problem(404, 'not_found', unknown) : answer(where);
}

type Ports = Pick<AdminPorts, 'reader' | 'writes' | 'takeovers' | 'health'>;

const contentType = 'application/json';
const ofConversation = { channel, conversation: segment('The id of the conversation.') };
const ofSender = { channel, sender: segment('The id of the sender.') };

/** Stored texts and people's data, for an operator to see and delete. */
export function conversationRoutes(ports: Ports): Route[] {
  return [...lists(ports), ...turns(ports), ...deletions(ports)];
}

function lists({ reader }: Ports): Route[] {
  return [
    readRoute({
      path: '/api/v1/conversations',
      principal: 'operator',
      summary: 'The conversations that svc keeps, in the order of channel and id.',
      parameters: page,
      contentType,
      problems: unread,
      schema: { name: 'Conversations', of: conversationsSchema },
      answer: async (asked) => answerWith(conversationsSchema, await reader.conversations(asked)),
    }),
    readRoute({
      path: '/api/v1/conversations/{id}',
      principal: 'operator',
      summary: 'One conversation by the id that svc gave it, and where new sessions began.',
      parameters: byId,
      contentType,
      problems: { ...unread, 404: unknown },
      schema: { name: 'Conversation', of: conversationTextSchema },
      answer: ({ id }) =>
        conversationWith(id, reader, async (where) => {
          return found(conversationTextSchema, await reader.conversation(where), unknown);
        }),
    }),
    readRoute({
      path: '/api/v1/conversations/{channel}/{conversation}',
      principal: 'operator',
      summary: 'One conversation, and where new sessions began.',
      parameters: ofConversation,
      contentType,
      problems: { ...unread, ...ambiguous, 404: unknown },
      schema: { name: 'Conversation', of: conversationTextSchema },
      answer: ({ channel: named, conversation: id }) =>
        onChannel(named, reader, async (key) => {
          const where = { channel: key, conversation: id as ConversationId };
          return found(conversationTextSchema, await reader.conversation(where), unknown);
        }),
    }),
  ];
}

function turns({ reader }: Ports): Route[] {
  const schema = { name: 'Turns', of: turnsSchema };
  return [
    readRoute({
      path: '/api/v1/conversations/{channel}/{conversation}/turns',
      principal: 'operator',
      summary: 'The messages and answers of a conversation, oldest first.',
      reveals: 'read_conversation',
      parameters: { ...ofConversation, ...page },
      contentType,
      problems: { ...unread, ...ambiguous },
      schema,
      answer: (values) =>
        onChannel(values.channel, reader, async (key) =>
          answerWith(
            turnsSchema,
            await reader.turns(conversationOf(key, values), pageAsked(values)),
          ),
        ),
    }),
    readRoute({
      path: '/api/v1/senders/{channel}/{sender}/turns',
      principal: 'operator',
      summary: 'The messages of one sender on a channel, and their answers, oldest first.',
      reveals: 'read_sender',
      parameters: { ...ofSender, ...page },
      contentType,
      problems: { ...unread, ...ambiguous },
      schema,
      answer: (values) =>
        onChannel(values.channel, reader, async (key) =>
          answerWith(turnsSchema, await reader.turns(senderOf(key, values), pageAsked(values))),
        ),
    }),
  ];
}

function deletions(ports: Ports): Route[] {
  const { reader, writes } = ports;
  const { schema } = deletion;
  const problems = { ...deletion.problems, ...ambiguous };
  return [
    writeRoute({
      path: '/api/v1/conversations/{channel}/{conversation}',
      method: 'DELETE',
      action: 'forget_conversation',
      summary: 'Deletes a conversation, with waiting messages and messages at work.',
      parameters: ofConversation,
      contentType,
      problems,
      schema,
      answer: (values) =>
        onChannel(values.channel, reader, (key) =>
          deleted(ports, () => writes.forget(conversationOf(key, values))),
        ),
    }),
    writeRoute({
      path: '/api/v1/senders/{channel}/{sender}',
      method: 'DELETE',
      action: 'forget_sender',
      summary: 'Deletes all messages of one sender on a channel, and their answers.',
      parameters: ofSender,
      contentType,
      problems,
      schema,
      answer: (values) =>
        onChannel(values.channel, reader, (key) =>
          deleted(ports, () => forgetSender(ports, senderOf(key, values))),
        ),
    }),
  ];
}

/**
 * Forgets a sender. It ends a takeover with the sender's conversation id if nothing else is left
 * there, since that id may be the sender's own.
 */
async function forgetSender(
  { reader, writes, takeovers }: Ports,
  whose: MessageOwner,
): Promise<number> {
  const went = await writes.forget(whose);
  for (const held of takeovers.held()) {
    if (held.channel !== whose.channel || (await reader.conversation(held)) !== null) continue;
    if ((await takeovers.giveBack(held)) === 'storage_failed') throw new Error('a hold is left');
  }
  return went;
}

function conversationOf(
  channelKey: ChannelKey,
  at: { readonly conversation: string },
): MessageOwner {
  const conversation = at.conversation as ConversationId;
  return { kind: 'conversation', channel: channelKey, conversation };
}

function senderOf(channelKey: ChannelKey, { sender }: { readonly sender: string }): MessageOwner {
  return { kind: 'sender', channel: channelKey, sender };
}

function pageAsked({ after, limit }: { readonly after: string | null; readonly limit: number }) {
  return { after, limit };
}
