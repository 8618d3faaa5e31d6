/**
 * Schemas of a messenger's gate; the compiler compares each with its type in src/domain/gate.ts.
 */
import { turnedAwayReasons } from '../../domain/gate.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { integer, list, maybeText, object, oneOf, text, type IdText } from './schema.ts';

const turnedAway = {
  channel: text as IdText<ChannelKey>,
  reason: oneOf(...turnedAwayReasons),
  count: integer,
  at: integer,
} as const;

export const turnedAwaySchema = object({ rows: list(object(turnedAway)) });
export const sendersTurnedAwaySchema = object({
  rows: list(object({ ...turnedAway, sender: text })),
});

export const pairingSchema = object({
  channel: text,
  sender: text,
  name: maybeText,
  state: oneOf('admitted', 'asking'),
  at: integer,
});

export const pairingsSchema = object({ rows: list(pairingSchema) });
export const unpairedSchema = object({ result: oneOf('done') });
