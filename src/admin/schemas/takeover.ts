/** Schemas of conversations that an operator has taken over. */
import type { ChannelKey } from '../../domain/ids.ts';
import {
  integer,
  list,
  maybe,
  maybeInteger,
  maybeText,
  object,
  objectWith,
  text,
  type IdText,
} from './schema.ts';

const channel = text as IdText<ChannelKey>;

/** Times in milliseconds since 1970; `waiting`: unsettled messages and replies. */
export const holdsSchema = object({
  rows: list(object({ id: text, channel, since: integer, untilAt: integer, waiting: integer })),
});

/** Both null: the conversation is not taken over. */
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

/** `message`: the last message that the text answers; left out or null: the oldest one waiting. */
export const writtenSchema = objectWith({ text }, { message: maybeText });

/** `messages` were answered; `untilAt` null: the takeover has ended meanwhile. */
export const answeredSchema = object({ messages: list(text), untilAt: maybeInteger });

export const releasedSchema = object({ result: text });
