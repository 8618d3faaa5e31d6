/** Schemas of figures over time; the compiler compares them with the type in ../figures.ts. */
import { spans } from '../../telemetry/figures/figures.ts';
import { boolean, integer, list, maybeInteger, object, oneOf, text } from './schema.ts';

const counts = list(integer);
const maybes = list(maybeInteger);
const overall = object({ p50Ms: maybeInteger, p95Ms: maybeInteger });

export const figuresSchema = object({
  span: oneOf(...spans),
  from: integer,
  until: integer,
  stepMs: integer,
  since: maybeInteger,
  whole: object({
    accepted: counts,
    answered: counts,
    failed: counts,
    p50Ms: maybes,
    p95Ms: maybes,
    overall,
    queue: maybes,
    deadLetters: maybes,
    inputTokens: counts,
    outputTokens: counts,
  }),
  models: list(
    object({
      model: text,
      provider: text,
      answered: counts,
      failed: counts,
      p50Ms: maybes,
      p95Ms: maybes,
      overall,
      inputTokens: counts,
      outputTokens: counts,
    }),
  ),
  off: list(boolean),
  configs: list(object({ at: integer, revision: text })),
});
