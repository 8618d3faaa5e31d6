import { deliveryStates, messageOrders, stateFilters } from '../../domain/records.ts';
import { turnOutcomes } from '../../domain/trace.ts';
import type { AdminPorts } from '../admin.ts';
import { answerWith } from '../http/answer.ts';
import {
  auditSchema,
  conversationCountsSchema,
  deliveriesSchema,
  messagesSchema,
} from '../schemas/story.ts';
import {
  ofChannel,
  onChannels,
  page,
  unread,
  readRoute,
  type Parameter,
  type Route,
} from './route.ts';

type Ports = Pick<AdminPorts, 'runningConfig' | 'reader'>;

const contentType = 'application/json';
const fewer = 'A page may hold fewer rows than asked for, even none: `next` tells whether it ends.';

const ofMessages = {
  channel: ofChannel,
  brain: { kind: 'text', summary: 'Only of this brain.', charactersMax: 1_024 },
  state: {
    kind: 'word',
    summary: 'Only in this state; `unanswered`: dead, or ended with an apology.',
    words: stateFilters,
  },
  outcome: { kind: 'word', summary: 'Only with this outcome.', words: turnOutcomes },
  since: { kind: 'time', summary: 'Accepted then or later, in milliseconds since 1970.' },
  until: { kind: 'time', summary: 'Accepted before then, in milliseconds since 1970.' },
  order: { kind: 'word', summary: 'Which come first; newest if left out.', words: messageOrders },
  ...page,
} as const satisfies Record<string, Parameter>;

const ofDeliveries = {
  channel: ofChannel,
  state: { kind: 'word', summary: 'Only in this state.', words: deliveryStates },
  ...page,
} as const satisfies Record<string, Parameter>;

/** Lists of messages, replies and dead letters in the ledger, and the audit. */
export function recordRoutes(ports: Ports): Route[] {
  return [...lists(ports), counts(ports), audit(ports)];
}

function lists(ports: Ports): Route[] {
  const { reader } = ports;
  return [
    readRoute({
      path: '/api/v1/messages',
      principal: 'reader',
      summary: `Messages without their texts, newest first. ${fewer}`,
      parameters: ofMessages,
      contentType,
      problems: unread,
      schema: { name: 'Messages', of: messagesSchema },
      answer: ({ after, limit, order, ...filter }) =>
        onChannels(filter.channel, ports, async (channel) => {
          const query = { ...filter, channel };
          const asked = { after, limit, order: order ?? 'newest' };
          return answerWith(messagesSchema, await reader.messages(query, asked));
        }),
    }),
    readRoute({
      path: '/api/v1/deliveries',
      principal: 'reader',
      summary: `Replies on their way, without their texts, newest first. ${fewer}`,
      parameters: ofDeliveries,
      contentType,
      problems: unread,
      schema: { name: 'Deliveries', of: deliveriesSchema },
      answer: ({ after, limit, ...filter }) =>
        onChannels(filter.channel, ports, async (channel) => {
          const query = { ...filter, channel };
          return answerWith(deliveriesSchema, await reader.deliveries(query, { after, limit }));
        }),
    }),
  ];
}

function counts({ reader }: Ports): Route {
  return readRoute({
    path: '/api/v1/conversations/counts',
    principal: 'reader',
    summary: 'How many conversations and turns svc keeps of each channel.',
    contentType,
    problems: unread,
    schema: { name: 'ConversationCounts', of: conversationCountsSchema },
    answer: async () => {
      return answerWith(conversationCountsSchema, { rows: await reader.conversationCounts() });
    },
  });
}

function audit({ reader }: Ports): Route {
  return readRoute({
    path: '/api/v1/audit',
    principal: 'operator',
    summary: 'What operators did, newest first.',
    parameters: page,
    contentType,
    problems: unread,
    schema: { name: 'Audit', of: auditSchema },
    answer: async (query) => answerWith(auditSchema, await reader.audit(query)),
  });
}
