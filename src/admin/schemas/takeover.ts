/** What the API tells of conversations that an operator answers by hand. */
import type { ChannelKey } from '../../domain/ids.ts';
import { integer, list, maybe, maybeInteger, maybeText } from './schema.ts';
import { object, objectWith, text, type IdText } from './schema.ts';

const channel = text as IdText<ChannelKey>;

/** Times in milliseconds since 1970; `waiting`: messages and replies that are not settled. */
export const holdsSchema = object({
  rows: list(object({ id: text, channel, since: integer, untilAt: integer, waiting: integer })),
});

/** Both null: it is not held. */
export const holdSchema = object({ since: maybeInteger, untilAt: maybeInteger });

export const heldSchema = object({ since: integer, untilAt: integer });

export const waitingSchema = object({
  rows: list(
    object({
      id: text,
      acceptedAt: integer,
      sender: object({ id: text, name: maybeText }),
      text,
      media: maybe(object({ type: maybeText, reference: text })),
    }),
  ),
});

/** `message`: the last of those that it answers; left out or null: the oldest that waits. */
export const writtenSchema = objectWith({ text }, { message: maybeText });

/** The messages that are done with; `untilAt` null: the hold has ended meanwhile. */
export const answeredSchema = object({ messages: list(text), untilAt: maybeInteger });

export const releasedSchema = object({ result: text });
