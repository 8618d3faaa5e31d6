/** What the questions about configurations take and tell; each is held to its type. */
import { apologies } from '../../domain/decision.ts';
import { grantModes, toolOutcomes } from '../../domain/tool-use.ts';
import { configProblemSchema } from './config.ts';
import { boolean, kinds, list, maybe, maybeNumber, maybeText, number } from './schema.ts';
import { object, objectWith, oneOf, text } from './schema.ts';
import { problemSchema } from './status.ts';
import { failureSummary, traceSchema } from './story.ts';

const problems = list(configProblemSchema);

export const validatedSchema = object({ valid: boolean, problems });

export const preflightedSchema = object({
  valid: boolean,
  lines: list(
    object({
      kind: oneOf('ok', 'warning', 'failed'),
      subject: text,
      message: text,
      remedy: maybeText,
      refuses: boolean,
    }),
  ),
  problems,
});

export const draftSchema = objectWith(
  { config: text, brain: text, text },
  {
    channel: maybeText,
    sensitivity: maybe(oneOf('public', 'private')),
    history: maybe(list(object({ asked: text, answered: maybeText }))),
  },
);

export const tryResultSchema = object({
  decision: kinds(
    object({ kind: oneOf('reply'), text, model: maybeText }),
    object({
      kind: oneOf('apology'),
      apology: oneOf(...apologies),
      text,
    }),
  ),
  ms: number,
  why: text,
  trace: traceSchema,
  answers: list(
    object({
      model: text,
      kind: oneOf('answer', 'failed', 'dropped', 'not_asked'),
      text: maybeText,
      ms: maybeNumber,
      failure: maybe(failureSummary),
      reason: maybeText,
    }),
  ),
  tools: list(
    object({
      tool: text,
      mode: oneOf(...grantModes),
      outcome: oneOf(...toolOutcomes),
      arguments: text,
      result: maybeText,
    }),
  ),
});

export const trialEventSchema = kinds(
  object({ kind: oneOf('more'), text }),
  object({ kind: oneOf('anew'), text }),
  object({ kind: oneOf('result'), result: tryResultSchema }),
  object({ kind: oneOf('problem'), problem: problemSchema }),
);
