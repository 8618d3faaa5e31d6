/** A conversation in a path, by the id that svc gave it. */
import { sealedCharactersMax, type ConversationKey } from '../../domain/story.ts';
import type { LedgerReader } from '../../ledger/ledger.ts';
import { problem, type Answer } from '../http/answer.ts';
import type { Parameter } from './route.ts';

export const byId = {
  id: {
    kind: 'segment',
    summary: 'The `id` of the conversation, as lists and messages tell it.',
    charactersMax: sealedCharactersMax,
  },
} as const satisfies Record<string, Parameter>;

export const unknown = 'No such conversation is kept; without storage none is.';

/** Answers about the conversation that was named, or that there is none. */
export async function conversationWith(
  id: string,
  reader: Pick<LedgerReader, 'conversationById'>,
  answer: (where: ConversationKey) => Promise<Answer>,
): Promise<Answer> {
  const where = await reader.conversationById(id);
  return where === null ? problem(404, 'not_found', unknown) : answer(where);
}
