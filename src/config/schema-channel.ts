/** The schema of a channel: the fields of all kinds, of messengers, and those that a kind adds. */
import {
  channelKinds,
  channelSynonyms,
  channelTypes,
  type OwnFields,
} from '../channels/registry.ts';
import type { ChannelKind } from '../channels/kind.ts';
import type { Condition, ObjectField } from './field.ts';

const channelTypeField = {
  type: 'choice',
  names: channelTypes,
  synonyms: channelSynonyms,
} as const;

/** The field for a channel's name, wherever a file names a channel. */
export const channelNameField = { ...channelTypeField, others: 'channel_name' } as const;

const access = {
  type: 'object',
  description: 'Who may talk on a messenger channel. Absent: anyone.',
  added: true,
  fields: {
    allow: {
      type: 'list',
      description:
        'User ids of the platform that may talk. Absent: anyone, or with `pairing` only people ' +
        'let in by a code. Empty: only people let in by a code.',
      items: { type: 'text', description: 'A numeric user id, in quotes.', format: 'digits' },
    },
    groups: {
      type: 'choice',
      description: 'In groups: answer when mentioned, answer every message, or stay silent.',
      names: ['mention', 'all', 'off'],
      default: 'mention',
    },
    pairing: {
      type: 'boolean',
      description:
        'Give a stranger a code, with which `svc pair` lets them in. Needs `storage`. ' +
        'False: people let in by a code are strangers.',
      default: false,
    },
  },
} as const satisfies ObjectField;

const speech = {
  type: 'object',
  description:
    'A server that turns voice notes into text by the transcription API of OpenAI: whisper.cpp, ' +
    'faster-whisper and others. Absent: svc does not listen to voice notes.',
  added: true,
  fields: {
    base_url: {
      type: 'text',
      description:
        'The address, such as `http://127.0.0.1:8000/v1`. If a private brain answers the ' +
        'channel, a loopback or private address.',
      format: 'base_url',
      required: true,
    },
    model: { type: 'text', description: "The server's name of the model.", required: true },
  },
} as const satisfies ObjectField;

/** Fields of messengers beside `access`: how the bot behaves in a chat. */
const chatFields = {
  streaming: {
    type: 'boolean',
    description: 'Show a reply while the model writes it, as one message that grows.',
    default: true,
    added: true,
  },
  gather_ms: {
    type: 'integer',
    description:
      'Milliseconds to wait for more messages of a person, while none of theirs is at work. ' +
      'Messages that come so soon are one turn. 0: each is a turn of its own.',
    minimum: 0,
    maximum: 10_000,
    default: 0,
    added: true,
  },
  edits: {
    type: 'boolean',
    description:
      'When somebody edits a message within two minutes, ask again once and edit the answer.',
    default: false,
    added: true,
  },
  speech,
} as const satisfies ObjectField['fields'];

const messengers = channelKinds.filter(({ isMessenger }) => isMessenger);
const ownFields = Object.assign({}, ...channelKinds.map(({ fields }) => fields)) as OwnFields;

export const channel = {
  type: 'object',
  description: 'A connection to one platform. Routes call it by its `name`, or else by its `type`.',
  fields: {
    type: {
      ...channelTypeField,
      required: true,
      description: `The platform; ${listOf(messengers, nameOf)}.`,
    },
    name: {
      ...channelNameField,
      description:
        'The name by which routes, grants and approvers know the channel. A second channel of ' +
        'one type needs one. svc keeps conversations by it: a renamed channel is a new one.',
      defaultNote: 'the `type`',
      added: true,
    },
    mode: {
      type: 'choice',
      description: `${listOf(channelKinds, modeOf)}.`,
      names: channelKinds.flatMap(({ mode }) => mode ?? []),
    },
    token_env: {
      type: 'text',
      description: `Environment variable with the bot token${channelKinds.map(tokenOf).join('')}.`,
      format: 'env',
      required: true,
    },
    ...ownFields,
    base_url: {
      type: 'text',
      description:
        "Another address of the messenger's API: a Bot API server of your own, a relay, a test.",
      format: 'base_url',
      added: true,
    },
    access,
    ...chatFields,
  },
  conditions: channelKinds.map(conditionOf),
} as const satisfies ObjectField;

function listOf(kinds: readonly ChannelKind[], format: (kind: ChannelKind) => string): string {
  return kinds.map(format).join(', ');
}

function nameOf({ type, name }: ChannelKind): string {
  return `\`${type}\` is ${name}`;
}

function modeOf({ type, mode }: ChannelKind): string {
  return `${mode === null ? 'none' : `\`${mode}\``} for \`${type}\``;
}

function tokenOf({ type, token }: ChannelKind): string {
  return token.ours === null ? '' : `; on \`${type}\` with ${token.ours}`;
}

function conditionOf({ type, mode, requires, fields, isMessenger }: ChannelKind): Condition {
  const others = Object.keys(ownFields).filter((key) => !Object.hasOwn(fields, key));
  const needed = [...(mode === null ? [] : ['mode']), ...requires];
  const forbids = [
    ...others,
    ...(mode === null ? ['mode'] : []),
    ...(isMessenger ? [] : ['access', 'base_url', ...Object.keys(chatFields)]),
  ];
  return {
    when: { type },
    ...(needed.length === 0 ? {} : { requires: needed }),
    ...(mode === null ? {} : { only: { mode } }),
    forbids,
  };
}
