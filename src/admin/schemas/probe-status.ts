/** Of the types in admin/probe-status.ts. */
import { failureKinds } from '../../domain/failure.ts';
import { standings } from '../../domain/health.ts';
import { integer, list, maybe, maybeBoolean, maybeInteger, maybeNumber } from './schema.ts';
import { maybeText, object, objectWith, oneOf, text } from './schema.ts';

const failureKind = oneOf(...failureKinds);
const span = object({ answers: integer, failures: integer });
const window = object({ oneMinute: span, fiveMinutes: span });

export const times = object({ p50Ms: maybeNumber, p95Ms: maybeNumber });

const calls = {
  provider: text,
  answers: integer,
  failures: integer,
  givenUp: integer,
  reasons: list(object({ code: failureKind, count: integer })),
  times,
};

const standing = {
  standing: maybe(oneOf(...standings)),
  shownAt: maybeInteger,
  window: maybe(window),
};

export const providers = list(
  objectWith(
    {
      ...calls,
      state: oneOf('up', 'failing', 'unknown'),
      since: maybeInteger,
      reason: maybe(failureKind),
      model: maybeText,
    },
    standing,
  ),
);

export const models = list(
  objectWith(
    { model: text, ...calls },
    {
      ...standing,
      inUse: maybeBoolean,
      since: maybeInteger,
      reason: maybe(failureKind),
      answeredByOthers: maybeInteger,
    },
  ),
);

export const answering = list(
  object({
    brain: text,
    standing: oneOf(...standings),
    since: maybeInteger,
    shownAt: maybeInteger,
    model: maybeText,
    reason: maybe(failureKind),
    window,
  }),
);
