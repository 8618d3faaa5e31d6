import { fileBytesMax } from '../../config/inspect.ts';
import type { AdminPorts } from '../admin.ts';
import { found, problem, answerWith, type Answer } from '../http/answer.ts';
import type {
  Applied,
  ConfigAsked,
  ConfigControl,
  ConfigRefused,
  HistoryFault,
} from '../../config/config-control.ts';
import {
  configAppliedSchema,
  configHistorySchema,
  configKeptSchema,
  configOnDiskSchema,
  configSchema,
  refusedSchemas,
} from '../schemas/config.ts';
import { segment, readRoute, writeRoute, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'control'>;

const contentType = 'application/json';
const ifMatch = 'The revision that is in use, as the ETag of the configuration shows it.';
const revision = segment('The revision, as the history shows it.');
const edited = {
  kind: 'text',
  summary: 'Replaces a file that somebody edited: its revision. That text is kept in the history.',
  charactersMax: 100,
} as const;
const unreadable = 'The history cannot be read; the detail says what to do.';
const unknown = 'No such revision is kept; the history lists those that are.';

const { conflict, changed, invalid, missing, others, restart } = refusedSchemas;
const refused = {
  409: {
    summary: 'It was not taken into use: a restart is needed, or the code says what else.',
    also: [restart, changed, others],
  },
  412: { summary: 'Another revision is in use by now.', also: [conflict] },
  422: { summary: 'It is no configuration that svc could run.', also: [invalid, missing] },
  503: 'It could not be saved, or what is kept of before not read or written.',
} as const;
const applied = { name: 'ConfigApplied', of: configAppliedSchema } as const;

/** The configuration: read it, replace it while svc runs, read earlier ones. */
export function configRoutes({ control }: Ports): Route[] {
  return [inUse(control), onDisk(control), replace(control), ...history(control)];
}

function inUse(control: ConfigControl): Route {
  return readRoute({
    path: '/api/v1/config',
    principal: 'operator',
    summary: 'The text of the configuration in use. Its revision is also the ETag.',
    contentType,
    schema: { name: 'Config', of: configSchema },
    answer: () => {
      const now = control.inUse();
      return { ...answerWith(configSchema, now), headers: { etag: `"${now.revision}"` } };
    },
  });
}

function onDisk(control: ConfigControl): Route {
  return readRoute({
    path: '/api/v1/config/disk',
    principal: 'operator',
    summary: 'The content of the file: the text in use, or an edit by hand.',
    contentType,
    schema: { name: 'ConfigOnDisk', of: configOnDiskSchema },
    answer: async () => {
      const disk = await control.onDisk();
      return answerWith(configOnDiskSchema, { ...disk, readable: disk.text !== null });
    },
  });
}

function replace(control: ConfigControl): Route {
  return writeRoute({
    path: '/api/v1/config',
    method: 'PUT',
    action: 'config_apply',
    summary: 'Checks a configuration, saves it and takes it into use.',
    parameters: { edited },
    ifMatch,
    body: {
      kind: 'text',
      summary: 'The whole new text of the file.',
      bytesMax: fileBytesMax,
      example,
    },
    contentType,
    problems: refused,
    schema: applied,
    answer: (values, { body: text, revision: from, mayAskWith }) =>
      apply(control, { text, revision: from, edited: values.edited, mayAskWith }),
  });
}

function history(control: ConfigControl): Route[] {
  return [
    readRoute({
      path: '/api/v1/config/history',
      principal: 'operator',
      summary: 'The configuration in use and earlier ones, newest first.',
      contentType,
      problems: { 503: unreadable },
      schema: { name: 'ConfigHistory', of: configHistorySchema },
      answer: async () => {
        const rows = await control.history();
        if ('kind' in rows) return notReadable(rows);
        return answerWith(configHistorySchema, { rows });
      },
    }),
    readRoute({
      path: '/api/v1/config/history/{revision}',
      principal: 'operator',
      summary: 'The text of an earlier configuration.',
      parameters: { revision },
      contentType,
      problems: { 404: unknown, 503: unreadable },
      schema: { name: 'ConfigKept', of: configKeptSchema },
      answer: async ({ revision: wanted }) => {
        const kept = await control.kept(wanted);
        if (kept !== null && 'kind' in kept) return notReadable(kept);
        return found(configKeptSchema, kept, unknown);
      },
    }),
    writeRoute({
      path: '/api/v1/config/history/{revision}/restore',
      method: 'POST',
      action: 'config_restore',
      summary: 'Takes an earlier configuration into use again, by the same steps.',
      parameters: { revision, edited },
      ifMatch,
      contentType,
      problems: { ...refused, 404: unknown },
      schema: applied,
      answer: async ({ revision: wanted, edited: over }, { revision: from, mayAskWith }) => {
        const kept = await control.kept(wanted);
        if (kept === null) return problem(404, 'not_found', unknown);
        if ('kind' in kept) return notReadable(kept);
        return apply(control, { text: kept.text, revision: from, edited: over, mayAskWith });
      },
    }),
  ];
}

function notReadable({ detail }: HistoryFault): Answer {
  return problem(503, 'history_unreadable', detail);
}

async function apply(control: ConfigControl, asked: ConfigAsked): Promise<Answer> {
  const result = await control.apply(asked);
  const from = { from: asked.revision };
  if (result.kind === 'refused') return { ...answerTo(result), auditDetails: from };
  const headers = { etag: `"${result.revision}"` };
  return {
    ...answerWith(configAppliedSchema, result),
    headers,
    auditDetails: { ...from, to: result.revision },
  };
}

function answerTo(why: Extract<Applied, ConfigRefused>): Answer {
  const { code, detail } = why;
  switch (code) {
    case 'revision_conflict':
      return problem(412, code, detail, {}, { revision: why.revision });
    case 'file_changed':
      return problem(409, code, detail, {}, { revision: why.revision });
    case 'config_invalid':
    case 'secret_missing':
      return problem(422, code, detail, {}, { problems: why.problems });
    case 'restart_required':
      return problem(409, code, detail, {}, { fields: why.fields });
    case 'config_refused_by_instance':
      return problem(409, code, detail, {}, { refusals: why.refusals });
    case 'would_lock_out':
    case 'rolled_back':
      return problem(409, code, detail);
    case 'not_saved':
      return problem(503, code, detail);
    default:
      return code satisfies never;
  }
}

const example = `{
  "channels": [
    {
      "type": "webhook",
      "token_env": "WEBHOOK_SECRET",
      "webhook": { "outbound_url": "https://example.org/replies" }
    }
  ],
  "brains": [
    {
      "name": "main",
      "sensitivity": "private",
      "policy": { "kind": "priority" },
      "models": [{ "provider": "local_runtime", "model_id": "llama3.2", "locality": "local" }]
    }
  ],
  "routes": [{ "channel": "webhook", "brain": "main" }]
}`;
