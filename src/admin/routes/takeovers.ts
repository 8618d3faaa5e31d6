/** Conversations that an operator takes over, answers, and gives back. */
import { plural } from '../../domain/plural.ts';
import type { ConversationKey } from '../../domain/story.ts';
import type { TakeoverResult } from '../../pipeline/takeover/takeover.ts';
import { completionsChannel } from '../../domain/ids.ts';
import { takeoversMax, waitingMax } from '../../domain/takeover.ts';
import type { AdminPorts, TakeoverPort } from '../admin.ts';
import { problem, answerWith, type Answer } from '../http/answer.ts';
import {
  answeredSchema,
  heldSchema,
  holdSchema,
  holdsSchema,
  releasedSchema,
  waitingSchema,
  writtenSchema,
} from '../schemas/takeover.ts';
import { byId, conversationWith, unknown } from './conversations.ts';
import { unread, readRoute, writeRoute, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'reader' | 'takeovers'>;

const contentType = 'application/json';
/** How many takeovers a list has. */
const rowsMax = 100;
/** Longer than any platform's message. The channel splits it to fit. */
const answerCharactersMax = 32_000;
const answerBytesMax = 262_144;

const sentences = {
  not_held: 'The conversation is not held: take it over first, or again.',
  nothing_to_answer: 'Nothing waits in the conversation: an answer is one to a message.',
  answered_already: 'That message does not wait any more: look at the conversation again.',
  message_unknown:
    'The conversation has no such message: name the `id` of one that waits; none is the oldest.',
  not_served: 'Its channel is not in the configuration in use: bring it back first.',
  storage_failed: 'It cannot be written down now; the log says why. Nothing was changed.',
} as const;

export function takeoverRoutes(ports: Ports): Route[] {
  return [...reads(ports), ...moves(ports), answer(ports)];
}

function reads({ reader, takeovers }: Ports): Route[] {
  const shared = {
    contentType,
    principal: 'operator',
    problems: { ...unread, 404: unknown },
  } as const;
  return [
    readRoute({
      ...shared,
      path: '/api/v1/holds',
      summary: `Conversations that an operator holds, oldest first; at most ${rowsMax}.`,
      problems: unread,
      schema: { name: 'Holds', of: holdsSchema },
      async answer() {
        const all = takeovers.held().slice(0, rowsMax);
        const rows = await Promise.all(all.map((one) => reader.conversation(one)));
        return answerWith(holdsSchema, {
          rows: all.flatMap(({ channel, since, untilAt }, at) => {
            const { id = null, waiting = 0 } = rows[at] ?? {};
            return id === null ? [] : [{ id, channel, since, untilAt, waiting }];
          }),
        });
      },
    }),
    readRoute({
      ...shared,
      path: '/api/v1/holds/{id}',
      summary: 'Until when an operator holds a conversation; null if nobody does.',
      parameters: byId,
      schema: { name: 'Hold', of: holdSchema },
      answer: ({ id }) =>
        conversationWith(id, reader, async (where) =>
          answerWith(holdSchema, takeovers.of(where) ?? { since: null, untilAt: null }),
        ),
    }),
    readRoute({
      ...shared,
      path: '/api/v1/holds/{id}/waiting',
      summary: `The messages that wait in a conversation, with texts; the oldest ${waitingMax}.`,
      reveals: 'read_waiting',
      parameters: byId,
      schema: { name: 'WaitingMessages', of: waitingSchema },
      answer: ({ id }) =>
        conversationWith(id, reader, async (where) =>
          answerWith(waitingSchema, { rows: await takeovers.waiting(where) }),
        ),
    }),
  ];
}

function moves({ reader, takeovers }: Ports): Route[] {
  return [
    writeRoute({
      path: '/api/v1/conversations/{id}/hold',
      method: 'POST',
      action: 'hold',
      summary: 'Takes a conversation over for an hour from now. svc asks no model in it meanwhile.',
      parameters: byId,
      contentType,
      problems: {
        404: unknown,
        409: `${plural(takeoversMax, 'conversation')} are held already. Or a client waits for it.`,
        503: sentences.storage_failed,
      },
      schema: { name: 'Held', of: heldSchema },
      answer: ({ id }) => conversationWith(id, reader, async (where) => held(takeovers, where)),
    }),
    writeRoute({
      path: '/api/v1/conversations/{id}/release',
      method: 'POST',
      action: 'release',
      summary: 'Gives a conversation back. Its brain answers the waiting messages in order.',
      parameters: byId,
      contentType,
      problems: { 404: unknown, 409: sentences.not_held, 503: sentences.storage_failed },
      schema: { name: 'Released', of: releasedSchema },
      answer: ({ id }) =>
        conversationWith(id, reader, async (where) => {
          const result = await takeovers.giveBack(where);
          if (result === 'done') return answerWith(releasedSchema, { result });
          return problem(result === 'not_held' ? 409 : 503, result, sentences[result]);
        }),
    }),
  ];
}

function answer({ reader, takeovers }: Ports): Route {
  return writeRoute({
    path: '/api/v1/conversations/{id}/answer',
    method: 'POST',
    action: 'answer',
    summary: 'Answers by hand in a held conversation: this message, and those before it.',
    parameters: byId,
    body: {
      kind: 'json',
      summary: 'The text of the answer, and the last of the messages that it answers.',
      bytesMax: answerBytesMax,
      example: { text: 'It is on its way.', message: null },
      schema: { name: 'WrittenByHand', of: writtenSchema },
    },
    contentType,
    problems: {
      400: `The text is empty, or longer than ${answerCharactersMax} characters.`,
      404: 'No such conversation is kept, or it has no such message (`message_unknown`).',
      409: 'It is not held, nothing waits, the message does not, or its channel is not served.',
      503: sentences.storage_failed,
    },
    schema: { name: 'AnsweredByHand', of: answeredSchema },
    answer: ({ id }, { body: { text, message } }) =>
      conversationWith(id, reader, async (where) => {
        const fault = faultIn(text);
        if (fault !== null) return fault;
        const upTo = message ?? null;
        const result = await takeovers.answer(where, { text, upTo });
        const isUnknown =
          result.kind === 'answered_already' && !(await hasMessage(reader, where, upTo));
        if (!isUnknown) return answered(result);
        return problem(404, 'message_unknown', sentences.message_unknown);
      }),
  });
}

/** Whether it is one of the conversation's stored messages, including settled ones. */
async function hasMessage(
  reader: Ports['reader'],
  where: ConversationKey,
  id: string | null,
): Promise<boolean> {
  const [origin] = id === null ? [] : await reader.origins([id]);
  return origin?.channel === where.channel && origin.conversation === where.conversation;
}

async function held(takeovers: TakeoverPort, where: ConversationKey): Promise<Answer> {
  if (where.channel === completionsChannel) return problem(409, 'client_waits', clientWaits);
  const hold = await takeovers.hold(where);
  if (hold === 'storage_failed') return problem(503, hold, sentences[hold]);
  if (hold !== 'too_many') return answerWith(heldSchema, hold);
  const detail = `${plural(takeoversMax, 'conversation')} are held already: give one back first.`;
  return problem(409, 'too_many_held', detail);
}

const clientWaits =
  'A client of the completions API waits for this answer on its own connection, so nobody can ' +
  'take it over.';

function faultIn(text: string): Answer | null {
  if (text.trim() === '') return problem(400, 'empty_text', 'The answer has no text: write one.');
  if (text.length <= answerCharactersMax) return null;
  const detail = `The answer has ${text.length} characters; ${answerCharactersMax} are the most.`;
  return problem(400, 'text_too_long', detail);
}

function answered(result: TakeoverResult): Answer {
  if (result.kind === 'answered') {
    const { messages, hold } = result;
    return answerWith(answeredSchema, { messages, untilAt: hold?.untilAt ?? null });
  }
  const { kind } = result;
  return problem(kind === 'storage_failed' ? 503 : 409, kind, sentences[kind]);
}
