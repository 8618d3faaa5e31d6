import {
  boolean,
  integer,
  list,
  maybeText,
  object,
  objectMay,
  oneOf,
  text,
  kinds,
  maybe,
  maybeNumber,
  number,
  objectWith,
} from './schema.ts';
import { problemAnd, problemSchema } from './status.ts';
import { secretSources } from '../../config/found-secret.ts';
import { keychainStates } from '../../domain/keychain-state.ts';
import { storeKinds } from '../secret-control.ts';
import { apologies } from '../../domain/decision.ts';
import { grantModes, toolOutcomes } from '../../domain/tool-use.ts';
import { failureSummary, traceSchema } from './story.ts';

/** Schemas of secrets; the compiler compares each with its type in secret-control.ts. */
const presence = {
  name: text,
  source: oneOf(...secretSources, 'missing'),
  inKeychain: boolean,
} as const;
const state = oneOf(...keychainStates);

export const secretsSchema = object({
  rows: list(object({ ...presence, usedAt: list(text), restart: boolean })),
  store: object({ kind: oneOf(...storeKinds), state, message: maybeText, remedy: maybeText }),
});
export const namesSchema = object({ names: list(text) });
export const presenceSchema = object({ rows: list(object(presence)) });
export const valueSchema = object({ value: text });

export const keychainUnavailable = {
  name: 'KeychainUnavailable',
  of: problemAnd('keychain_unavailable', { state, remedy: text }),
} as const;

export const configProblemSchema = object({
  severity: oneOf('error', 'warning'),
  code: text,
  path: text,
  line: integer,
  column: integer,
  message: text,
  remedy: text,
});

const problems = list(configProblemSchema);

/** The text in use; `file` null: the text is in no file. */
export const configSchema = object({
  revision: text,
  text,
  place: oneOf('file', 'database', 'nowhere'),
  file: maybeText,
  usedAt: integer,
});

/** The text in the file, in use or not; `why` says why there is no readable text. */
export const configOnDiskSchema = object({
  revision: text,
  readable: boolean,
  text: maybeText,
  why: maybeText,
});

export const configAppliedSchema = object({
  revision: text,
  usedAt: integer,
  changes: list(text),
  warnings: problems,
});

export const configHistorySchema = object({
  rows: list(object({ revision: text, savedAt: integer, bytes: integer, used: boolean })),
});

export const configKeptSchema = object({ revision: text, savedAt: integer, text });

/** Schemas of `ConfigRefused`, for codes with more fields than usual. */
export const refusedSchemas = {
  conflict: { name: 'RevisionConflict', of: problemAnd('revision_conflict', { revision: text }) },
  changed: { name: 'FileChanged', of: problemAnd('file_changed', { revision: text }) },
  invalid: { name: 'ConfigInvalid', of: problemAnd('config_invalid', { problems }) },
  missing: { name: 'SecretMissing', of: problemAnd('secret_missing', { problems }) },
  others: {
    name: 'ConfigRefusedByInstance',
    of: problemAnd('config_refused_by_instance', {
      refusals: list(
        object({ instance: integer, host: text, version: text, reason: text, detail: text }),
      ),
    }),
  },
  restart: { name: 'RestartRequired', of: problemAnd('restart_required', { fields: list(text) }) },
} as const;

/** Schemas of the questions about configurations; the compiler compares each with its type. */
const trialsProblems = list(configProblemSchema);

export const validatedSchema = object({ valid: boolean, problems: trialsProblems });

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
  problems: trialsProblems,
});

export const modelProviderSchema = objectWith(
  { provider: text },
  { base_url: maybeText, api_key_env: maybeText },
);
export const modelListSchema = object({ names: list(text), reason: maybeText });

export const draftSchema = objectWith(
  { config: text, text },
  {
    brain: maybeText,
    channel: maybeText,
    sender: maybeText,
    chat: maybeText,
    topic: maybeText,
    sensitivity: maybe(oneOf('public', 'private')),
    history: maybe(list(object({ asked: text, answered: maybeText }))),
  },
);

export const tryResultSchema = objectMay(
  {
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
  },
  { route: maybe(object({ number: integer, why: text })) },
);

export const trialEventSchema = kinds(
  object({ kind: oneOf('more'), text }),
  object({ kind: oneOf('anew'), text }),
  object({ kind: oneOf('result'), result: tryResultSchema }),
  object({ kind: oneOf('problem'), problem: problemSchema }),
);
