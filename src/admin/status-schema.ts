import { failureKinds } from '../domain/failure.ts';
import { channelTypes } from '../domain/ids.ts';
import { integer, list, maybeInteger, maybeNumber, maybeText } from './schema.ts';
import { object, oneOf, text, type Schema } from './schema.ts';

const times = object({ p50Ms: maybeNumber, p95Ms: maybeNumber });
const channelType = oneOf(...channelTypes);

/** Of `Status` in admin.ts. */
export const statusSchema = object({
  status: oneOf('ok', 'failing'),
  reason: maybeText,
  version: text,
  revision: text,
  startedAt: integer,
  uptimeMs: integer,
  storage: oneOf('memory', 'sqlite'),
  channels: list(
    object({
      type: channelType,
      state: oneOf('starting', 'up', 'degraded', 'failed', 'stopped', 'unrouted'),
      since: maybeInteger,
      reason: maybeText,
      lastSeenAt: maybeInteger,
      brain: maybeText,
      address: maybeText,
    }),
  ),
  brains: list(
    object({
      name: text,
      sensitivity: oneOf('public', 'private'),
      dispatch: oneOf('fanout', 'sequential'),
      policy: oneOf('priority', 'consensus'),
      models: list(
        object({
          name: text,
          locality: oneOf('local', 'cloud'),
          state: oneOf('asked', 'dropped'),
        }),
      ),
    }),
  ),
  providers: list(
    object({
      provider: text,
      answers: integer,
      failures: integer,
      givenUp: integer,
      reasons: list(object({ code: oneOf(...failureKinds), count: integer })),
      times,
    }),
  ),
  backlog: list(object({ channel: text, inbox: integer, outbox: integer, unroutable: integer })),
  counts: object({
    accepted: integer,
    duplicates: integer,
    refused: integer,
    settled: integer,
    delivered: integer,
    deadLetters: integer,
    faults: integer,
    waiting: integer,
    inFlight: integer,
    deadLettersKept: integer,
  }),
  times: object({ waited: times, turns: times, endToEnd: times }),
  warnings: list(object({ code: text, path: text, message: text, remedy: text })),
});

/** What `/healthz` answers. */
export const healthSchema = object({
  status: oneOf('ok', 'failing'),
  version: text,
  uptimeMs: integer,
  channels: list(
    object({ type: channelType, state: oneOf('starting', 'up', 'degraded', 'failed', 'stopped') }),
  ),
});

/** Every error. Format: RFC 9457, and a stable `code`. */
export const problemSchema = object({
  type: text,
  title: text,
  status: integer,
  code: text,
  detail: text,
});

/** A problem with members of its own, told apart by its code. */
export function problemAnd<
  const Code extends string,
  const Members extends Readonly<Record<string, Schema>>,
>(code: Code, members: Members) {
  return object({ ...problemSchema.properties, code: oneOf(code), ...members });
}
