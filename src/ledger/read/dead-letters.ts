/** Dead letters, as the rows of their parts tell them. */
import type { Box } from '../../domain/event.ts';
import { timeOfId, type ChannelKey, type ConversationId } from '../../domain/ids.ts';
import { triesMax, type DeadLetter, type DeadLetterText } from '../../domain/story.ts';
import { wholeIdLength } from '../engine/order/rows.ts';
import { reasonOf, triesOf } from './stored-json.ts';
import type { ConversationIdCipher } from './id-cipher.ts';
import { textIn } from './stories.ts';

/** A dead message, or a dead reply or part of one, as its row tells it. */
export type DeadRecord = {
  readonly box: Box;
  readonly id: string;
  readonly channel: string;
  readonly conversation: string;
  readonly messageId: string;
  readonly acceptedAt: number | null;
  readonly diedAt: number;
  readonly attempts: number;
  readonly tries: string | null;
  readonly failure: string | null;
  readonly body: string;
};

/**
 * @param last the one that died last of the parts
 * @param parts in their order
 */
export function letterTextOf(
  idCipher: ConversationIdCipher,
  last: DeadRecord,
  parts: readonly DeadRecord[],
): DeadLetterText {
  const texts = parts.map(({ body }) => textIn(body)).filter((text) => text !== null);
  const letter = letterOf(last, parts);
  const conversation = last.conversation as ConversationId;
  return {
    ...letter,
    conversation,
    conversationId: idCipher.idOf({ channel: letter.channel, conversation }),
    tries: parts.flatMap(({ tries }) => triesOf(tries)).slice(-triesMax),
    text: texts.length === 0 ? null : texts.join('\n'),
  };
}

/** @param row the one that died last of the parts */
export function letterOf(row: DeadRecord, parts: readonly DeadRecord[]): DeadLetter {
  return {
    id: row.id.slice(0, wholeIdLength),
    box: row.box,
    channel: row.channel as ChannelKey,
    messageId: row.messageId,
    acceptedAt: row.acceptedAt ?? timeOfId(row.messageId),
    diedAt: row.diedAt,
    attempts: Math.max(...parts.map(attemptsOfDead)),
    parts: parts.length,
    failure: reasonOf(row.failure),
  };
}

/** A message's column counts the tries under which the process died, not the one that ended it. */
function attemptsOfDead({ box, attempts, failure }: DeadRecord): number {
  return box === 'in' && reasonOf(failure).kind === 'fault' ? attempts + 1 : attempts;
}
