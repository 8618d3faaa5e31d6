import type { DeadLetterMove } from '../../ledger/ledger.ts';
import { completionsChannel } from '../../domain/ids.ts';
import type { AdminPorts } from '../admin.ts';
import { found, json, problem, answerWith, type Answer } from '../http/answer.ts';
import {
  deadLetterMovedSchema,
  deadLetterReasonsSchema,
  deadLettersSchema,
  deadLetterTextSchema,
} from '../schemas/story.ts';
import { page, reason, segment, unread, readRoute, writeRoute, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'reader' | 'writes'>;

const contentType = 'application/json';
const parameters = { id: segment('The id of the dead letter, as the list shows it.') };
const unknown = 'No dead letter has this id.';

/** Dead letters: to look at, to try again, to delete. */
export function deadLetterRoutes(ports: Ports): Route[] {
  return [...lists(ports), oneLetter(ports), ...moves(ports)];
}

function lists({ reader }: Ports): Route[] {
  return [
    readRoute({
      path: '/api/v1/dead-letters',
      principal: 'reader',
      summary: 'Dead letters without their texts, newest first.',
      parameters: page,
      contentType,
      problems: unread,
      schema: { name: 'DeadLetters', of: deadLettersSchema },
      answer: async (asked) => answerWith(deadLettersSchema, await reader.deadLetters(asked)),
    }),
    readRoute({
      path: '/api/v1/dead-letters/reasons',
      principal: 'reader',
      summary: 'How many dead letters each reason has, most frequent first.',
      contentType,
      problems: unread,
      schema: { name: 'DeadLetterReasons', of: deadLetterReasonsSchema },
      answer: async () =>
        answerWith(deadLetterReasonsSchema, { rows: await reader.deadLetterReasons() }),
    }),
  ];
}

function oneLetter({ reader }: Ports): Route {
  return readRoute({
    path: '/api/v1/dead-letters/{id}',
    principal: 'operator',
    summary: 'One dead letter, with its text if there is storage.',
    reveals: 'read_dead_letter',
    parameters,
    contentType,
    problems: { ...unread, 404: unknown },
    schema: { name: 'DeadLetterText', of: deadLetterTextSchema },
    answer: async ({ id }) => found(deadLetterTextSchema, await reader.deadLetter(id), unknown),
  });
}

function moves({ reader, writes }: Ports): Route[] {
  const shared = {
    method: 'POST',
    contentType,
    problems: {
      404: unknown,
      409: 'Without storage no dead letter is kept. Or no client waits for the answer any more.',
      503: 'The storage failed.',
    },
    schema: { name: 'DeadLetterMoved', of: deadLetterMovedSchema },
  } as const;
  return [
    writeRoute({
      ...shared,
      path: '/api/v1/dead-letters/{id}/replay',
      action: 'replay',
      summary: 'Tries a dead letter again, as the last of its conversation.',
      parameters,
      answer: async ({ id }) => {
        const letter = await reader.deadLetter(id);
        return letter?.channel === completionsChannel ? unawaited : moved(await writes.replay(id));
      },
    }),
    writeRoute({
      ...shared,
      path: '/api/v1/dead-letters/{id}/discard',
      action: 'discard',
      summary: 'Deletes a dead letter with its text.',
      parameters: { ...parameters, reason },
      answer: async ({ id }) => moved(await writes.discard(id)),
    }),
  ];
}

const unawaited = problem(
  409,
  'nobody_waits',
  'Its client does not wait for the answer any more: the letter can only be discarded.',
);

function moved(result: DeadLetterMove): Answer {
  switch (result) {
    case 'done':
      return json(200, { result });
    case 'not_found':
      return problem(404, result, unknown);
    case 'not_kept':
      return problem(409, result, 'Without storage no dead letter is kept: add the storage block.');
    case 'storage_failed':
      return problem(503, result, 'The storage failed; the log says how. Nothing was changed.');
    default:
      return result satisfies never;
  }
}
