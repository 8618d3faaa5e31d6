/** What the API finds; held to its types in src/domain/search.ts. */
import type { ChannelKey, ConversationId } from '../../domain/ids.ts';
import { foundKinds, foundStates } from '../../domain/search.ts';
import { turnOutcomes } from '../../domain/trace.ts';
import { boolean, integer, list, maybe, maybeInteger, maybeText } from './schema.ts';
import { object, oneOf, pageOf, text, type IdText } from './schema.ts';

const found = {
  kind: oneOf(...foundKinds),
  id: maybeText,
  messageId: maybeText,
  channel: text as IdText<ChannelKey>,
  at: integer,
  brain: maybeText,
  state: maybe(oneOf(...foundStates)),
  outcome: maybe(oneOf(...turnOutcomes)),
};
const excerpt = object({ text, hits: list(object({ from: integer, to: integer })) });

export const foundIdsSchema = pageOf(object(found));

export const foundTextsSchema = object({
  rows: list(
    object({
      ...found,
      conversation: text as IdText<ConversationId>,
      sender: maybeText,
      excerpt: maybe(excerpt),
    }),
  ),
  next: maybeText,
  complete: boolean,
  indexedSince: maybeInteger,
});
