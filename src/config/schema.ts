/**
 * The one source of the configuration: every field that a file may hold. Names and structure are
 * a stable contract; a field is only ever added, and then optional (`added`).
 */
import type { Draft, ObjectField, Whole } from './field.ts';
import { brain } from './schema-brain.ts';
import { channel, channelTypeField } from './schema-channel.ts';

const route = {
  type: 'object',
  description: 'Gives the messages of a channel to a brain.',
  fields: {
    channel: {
      ...channelTypeField,
      description: 'The `type` of a configured channel.',
      required: true,
    },
    brain: { type: 'text', description: 'The `name` of a configured brain.', required: true },
  },
} as const satisfies ObjectField;

const storage = {
  type: 'object',
  description: 'Keeps conversations and unfinished work on disk. Absent: in memory only.',
  lifetime: 'process',
  fields: {
    path: {
      type: 'text',
      description: "The SQLite file; relative to the config file's folder. Not beside `url_env`.",
      defaultNote: "`svc/svc.db` in the user's configuration folder",
      lifetime: 'process',
    },
    retention_days: {
      type: 'integer',
      description:
        'Days that settled messages, replies and dead letters are kept; 0 keeps them for ever. ' +
        'What a conversation remembers is not touched.',
      minimum: 0,
      default: 30,
      added: true,
      lifetime: 'process',
    },
    url_env: {
      type: 'text',
      description:
        'Environment variable with the URL of a PostgreSQL server (14 or newer), in place of ' +
        '`path`: `postgres://user:password@host:5432/database`.',
      format: 'env',
      added: true,
      lifetime: 'process',
    },
  },
} as const satisfies ObjectField;

const session = {
  type: 'object',
  description: 'Cuts conversations into sessions; needs `storage`. Absent: no cuts.',
  fields: {
    triggers: {
      type: 'list',
      description: 'First words that begin a new session; an empty list means none.',
      items: { type: 'text', description: 'One word, such as `/new`.' },
      default: ['/new', '/reset'],
    },
    daily_at: {
      type: 'text',
      description: 'Local time `HH:MM` at which sessions expire each day. Empty: never.',
      format: 'time',
    },
    idle_min: {
      type: 'integer',
      description: 'Minutes of silence after which a session expires; 0 means never.',
      minimum: 0,
      default: 0,
    },
    recall_max: {
      type: 'integer',
      description: 'Turns that `/recall` may bring back, up to 50; 0 switches it off.',
      minimum: 0,
      maximum: 50,
      default: 0,
    },
  },
} as const satisfies ObjectField;

const observability = {
  type: 'object',
  description: 'The admin server: health, metrics, live view. On unless switched off.',
  default: 'empty',
  fields: {
    enabled: {
      type: 'boolean',
      description: 'Whether it runs.',
      default: true,
      lifetime: 'process',
    },
    addr: {
      type: 'text',
      description:
        'Address to listen on: `host:port`, `:port` or `[::1]:port`. Beyond loopback: a warning.',
      format: 'address',
      default: '127.0.0.1:2112',
      lifetime: 'process',
    },
    allowed_hosts: {
      type: 'list',
      description: 'Further host names under which the loopback admin server may be asked.',
      items: { type: 'text', description: 'A host name without a port.' },
      default: [],
      added: true,
    },
  },
} as const satisfies ObjectField;

const admin = {
  type: 'object',
  description: 'Switches on the write surface and the builder. Absent: read-only.',
  lifetime: 'process',
  fields: {
    token_env: {
      type: 'text',
      description:
        "Environment variable with the administrator's bearer token. Not set: read-only.",
      format: 'env',
      required: true,
      lifetime: 'process',
    },
  },
} as const satisfies ObjectField;

export const schema = {
  type: 'object',
  description: 'Configuration of svc.',
  required: true,
  fields: {
    channels: {
      type: 'list',
      description: 'The channels to run, one of each type at most.',
      required: true,
      itemsMin: 1,
      items: channel,
    },
    brains: {
      type: 'list',
      description: 'The brains that answer.',
      required: true,
      itemsMin: 1,
      items: brain,
    },
    routes: {
      type: 'list',
      description: 'Which brain answers which channel.',
      required: true,
      itemsMin: 1,
      items: route,
    },
    storage,
    session,
    observability,
    admin,
  },
} as const satisfies ObjectField;

/** A file without problems, in its own words: defaults filled in, absent is null. */
export type Document = Whole<typeof schema>;
/** A file that may have problems: what is wrong or missing is undefined. */
export type DraftDocument = Draft<typeof schema>;
export type ChannelDraft = NonNullable<NonNullable<DraftDocument['channels']>[number]>;
export type BrainDraft = NonNullable<NonNullable<DraftDocument['brains']>[number]>;
