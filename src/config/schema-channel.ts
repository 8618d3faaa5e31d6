import { channelTypes } from '../domain/ids.ts';
import type { ObjectField } from './field.ts';

export const channelSynonyms = { telegram: 'messenger_a', discord: 'messenger_b' } as const;

/** A webhook's path where none is written: no secret. */
export const webhookPathDefault = '/webhook';

const mapping = {
  type: 'object',
  description: "Maps the sender's JSON keys to message fields; only those that differ are listed.",
  default: 'empty',
  fields: {
    sender_id: {
      type: 'text',
      description: 'JSON key of the id of who sent the message.',
      default: 'sender_id',
    },
    sender_name: {
      type: 'text',
      description: "JSON key of the sender's display name.",
      default: 'sender_name',
    },
    text: { type: 'text', description: 'JSON key of the message text.', default: 'text' },
    media_url: {
      type: 'text',
      description: "JSON key of an attachment's URL.",
      default: 'media_url',
    },
    media_type: {
      type: 'text',
      description: "JSON key of an attachment's MIME type.",
      default: 'media_type',
    },
    conversation_id: {
      type: 'text',
      description: 'JSON key of the id that groups messages into one conversation.',
      default: 'conversation_id',
    },
  },
} as const satisfies ObjectField;

const webhook = {
  type: 'object',
  description: 'How a webhook channel listens and where its replies go.',
  fields: {
    bind: {
      type: 'text',
      description:
        'Address to listen on: `host:port`, `:port` or `[::1]:port`. Beyond loopback: a warning.',
      format: 'address',
      default: '127.0.0.1:8090',
      lifetime: 'port',
    },
    path: {
      type: 'text',
      description: 'Path that messages are POSTed to.',
      format: 'url_path',
      default: webhookPathDefault,
    },
    outbound_url: {
      type: 'text',
      description: "URL to which the brain's replies are POSTed.",
      format: 'url',
      required: true,
    },
    outbound_token_env: {
      type: 'text',
      description: 'Environment variable with the bearer secret that is sent with each reply.',
      format: 'env',
    },
    mapping,
  },
} as const satisfies ObjectField;

const access = {
  type: 'object',
  description: 'Who may talk on a messenger channel. Absent: anyone.',
  added: true,
  fields: {
    allow: {
      type: 'list',
      description:
        'User ids of the platform that may talk. Absent: anyone, or with `pairing` only whom a ' +
        'code let in. Empty: nobody but those.',
      items: { type: 'text', description: 'A numeric user id, in quotes.', format: 'digits' },
    },
    groups: {
      type: 'choice',
      description: 'In groups, answer when mentioned, answer every message, or stay silent.',
      names: ['mention', 'all', 'off'],
      default: 'mention',
    },
    pairing: {
      type: 'boolean',
      description:
        'Give a stranger a code by which `svc pair` lets them in; needs `storage`. ' +
        'False: who was let in so is a stranger.',
      default: false,
    },
  },
} as const satisfies ObjectField;

export const channel = {
  type: 'object',
  description: 'A connection to one platform. Routes name it by its `type`.',
  fields: {
    type: {
      type: 'choice',
      description: 'The platform; `messenger_a` is Telegram, `messenger_b` is Discord.',
      required: true,
      names: channelTypes,
      synonyms: channelSynonyms,
    },
    mode: {
      type: 'choice',
      description: '`polling` for `messenger_a`, `gateway` for `messenger_b`, none for `webhook`.',
      names: ['polling', 'gateway'],
    },
    token_env: {
      type: 'text',
      description:
        'Environment variable with the bot token; on `webhook` with the bearer secret of senders.',
      format: 'env',
      required: true,
    },
    webhook,
    base_url: {
      type: 'text',
      description:
        "Another address of the messenger's API: a Bot API server of your own, a relay, a test.",
      format: 'base_url',
      added: true,
    },
    access,
  },
  conditions: [
    {
      when: { type: 'messenger_a' },
      requires: ['mode'],
      only: { mode: 'polling' },
      forbids: ['webhook'],
    },
    {
      when: { type: 'messenger_b' },
      requires: ['mode'],
      only: { mode: 'gateway' },
      forbids: ['webhook'],
    },
    { when: { type: 'webhook' }, requires: ['webhook'], forbids: ['mode', 'access', 'base_url'] },
  ],
} as const satisfies ObjectField;
