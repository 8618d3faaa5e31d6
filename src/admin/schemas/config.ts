import { boolean, integer, list, maybeText, object, oneOf, text } from './schema.ts';
import { problemAnd } from './status.ts';

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

/** The text as it is in use; `file` null: the text is in no file. */
export const configSchema = object({
  revision: text,
  text,
  place: oneOf('file', 'database', 'nowhere'),
  file: maybeText,
  usedAt: integer,
});

/** What the file holds, in use or not; `why` says why it has no text that could be read. */
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

/** Schemas of `ConfigRefused`: the codes that say more than the usual. */
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
