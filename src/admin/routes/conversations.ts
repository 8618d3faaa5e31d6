import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import type { Whose } from '../../domain/story.ts';
import type { AdminPorts } from '../admin.ts';
import { found, tell } from '../answer.ts';
import { conversationsSchema, conversationTextSchema, turnsSchema } from '../story-schema.ts';
import { deleted, deletion } from './deletion.ts';
import { page, segment, unread } from './parameters.ts';
import { readRoute, writeRoute, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'reader' | 'writes' | 'health'>;

const contentType = 'application/json';
const channel = segment('The channel: `webhook`.');
const ofConversation = { channel, conversation: segment('The id of the conversation.') };
const ofSender = { channel, sender: segment('The id of the sender.') };
const unknown = 'No such conversation is kept; without storage none is.';

/** What is kept of people: an operator's to see, and to delete. */
export function conversationRoutes(ports: Ports): Route[] {
  return [...lists(ports), ...turns(ports), ...deletions(ports)];
}

function lists({ reader }: Ports): Route[] {
  return [
    readRoute({
      path: '/api/v1/conversations',
      principal: 'operator',
      summary: 'The conversations, in the order of channel and id.',
      parameters: page,
      contentType,
      problems: unread,
      schema: { name: 'Conversations', of: conversationsSchema },
      answer: async (asked) => tell(conversationsSchema, await reader.conversations(asked)),
    }),
    readRoute({
      path: '/api/v1/conversations/{channel}/{conversation}',
      principal: 'operator',
      summary: 'One conversation, and where its sessions were cut.',
      parameters: ofConversation,
      contentType,
      problems: { ...unread, 404: unknown },
      schema: { name: 'Conversation', of: conversationTextSchema },
      answer: async (values) => {
        const { channel: where, conversation: id } = values;
        const key = { channel: where as ChannelKey, conversation: id as ConversationId };
        return found(conversationTextSchema, await reader.conversation(key), unknown);
      },
    }),
  ];
}

function turns({ reader }: Ports): Route[] {
  const schema = { name: 'Turns', of: turnsSchema };
  return [
    readRoute({
      path: '/api/v1/conversations/{channel}/{conversation}/turns',
      principal: 'operator',
      summary: 'What was said in a conversation, and answered, oldest first.',
      parameters: { ...ofConversation, ...page },
      contentType,
      problems: unread,
      schema,
      answer: async (values) =>
        tell(turnsSchema, await reader.turns(conversationOf(values), pageAsked(values))),
    }),
    readRoute({
      path: '/api/v1/senders/{channel}/{sender}/turns',
      principal: 'operator',
      summary: 'What one sender said on a channel, and got for an answer, oldest first.',
      parameters: { ...ofSender, ...page },
      contentType,
      problems: unread,
      schema,
      answer: async (values) =>
        tell(turnsSchema, await reader.turns(senderOf(values), pageAsked(values))),
    }),
  ];
}

function deletions(ports: Ports): Route[] {
  const { problems, schema } = deletion;
  return [
    writeRoute({
      path: '/api/v1/conversations/{channel}/{conversation}',
      method: 'DELETE',
      action: 'forget_conversation',
      summary: 'Deletes a conversation: also what waits and what is at work.',
      parameters: ofConversation,
      contentType,
      problems,
      schema,
      answer: (values) => deleted(ports, () => ports.writes.forget(conversationOf(values))),
    }),
    writeRoute({
      path: '/api/v1/senders/{channel}/{sender}',
      method: 'DELETE',
      action: 'forget_sender',
      summary: 'Deletes all that one sender said on a channel, and the answers to it.',
      parameters: ofSender,
      contentType,
      problems,
      schema,
      answer: (values) => deleted(ports, () => ports.writes.forget(senderOf(values))),
    }),
  ];
}

function conversationOf(at: { readonly channel: string; readonly conversation: string }): Whose {
  const conversation = at.conversation as ConversationId;
  return { kind: 'conversation', channel: at.channel as ChannelKey, conversation };
}

function senderOf(at: { readonly channel: string; readonly sender: string }): Whose {
  return { kind: 'sender', channel: at.channel as ChannelKey, sender: at.sender };
}

function pageAsked({ after, limit }: { readonly after: string | null; readonly limit: number }) {
  return { after, limit };
}
