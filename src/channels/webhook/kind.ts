/** The webhook: senders POST messages to svc, and svc POSTs replies to a URL of yours. */
import { addressOf, checkEncrypted, type ListenAddress } from '../../config/address.ts';
import type { Draft, ObjectField, Whole } from '../../config/field.ts';
import type { ProblemList } from '../../config/problems.ts';
import type { ChannelKind, OwnSecret } from '../kind.ts';
import { signingKeyFault, type EnvName } from '../../config/secret-value.ts';

const listener = { block: 'webhook', bind: '127.0.0.1:8090', path: '/webhook' } as const;

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

const block = {
  type: 'object',
  description: 'How a webhook channel listens and where its replies go.',
  fields: {
    bind: {
      type: 'text',
      description:
        'Address to listen on: `host:port`, `:port` or `[::1]:port`. Beyond loopback: a warning.',
      format: 'address',
      default: listener.bind,
      lifetime: 'port',
    },
    path: {
      type: 'text',
      description: 'Path that messages are POSTed to.',
      format: 'url_path',
      default: listener.path,
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
    outbound_signing_env: {
      type: 'text',
      description:
        'Environment variable with the key (`whsec_…`) that replies are signed with, as Standard ' +
        'Webhooks says.',
      format: 'env',
      added: true,
    },
    mapping,
  },
} as const satisfies ObjectField;

export type WebhookConfig = {
  readonly type: 'webhook';
  readonly tokenEnv: EnvName;
  readonly bind: ListenAddress;
  readonly path: string;
  readonly outboundUrl: string;
  readonly outboundTokenEnv: EnvName | null;
  readonly outboundSigningEnv: EnvName | null;
  /** The JSON key of each message field, with defaults filled in. */
  readonly mapping: Whole<typeof mapping>;
};

type WebhookDocument = {
  readonly token_env: string;
  readonly webhook: Whole<typeof block> | null;
};

export const webhook = {
  type: 'webhook',
  name: 'Webhook',
  synonyms: [],
  isMessenger: false,
  dedupeDays: 7,
  mode: null,
  token: { variable: 'WEBHOOK_SECRET', ours: 'the bearer secret of senders', steps: [] },
  fields: { webhook: block },
  requires: ['webhook'],
  listener,
  groupsAtConnect: false,
  parse,
  check: ({ webhook: draft }: { readonly webhook: BlockDraft }, path, problems) => {
    checkMapping(draft?.mapping, `${path}.webhook.mapping`, problems);
    if (typeof draft?.outbound_token_env !== 'string') return;
    const at = `${path}.webhook.outbound_url`;
    checkEncrypted(draft.outbound_url, 'the bearer secret of replies', at, problems);
  },
  secrets: ownSecrets,
  topics: null,
  placeOf: (conversation: string) => ({ chat: conversation, topic: null }),
  repliesTo: ({ outboundUrl: url }: WebhookConfig) => ({ url, field: 'outbound_url' }),
} as const satisfies ChannelKind;

function parse(document: WebhookDocument, given: (path: string) => boolean): WebhookConfig {
  const { token_env: tokenEnv, webhook: own } = document;
  if (own === null) throw new Error('a webhook channel without its block passed the check');
  return {
    type: 'webhook',
    tokenEnv: tokenEnv as EnvName,
    bind: addressOf(own.bind, given('webhook.bind')),
    path: own.path,
    outboundUrl: own.outbound_url,
    outboundTokenEnv: own.outbound_token_env as EnvName | null,
    outboundSigningEnv: own.outbound_signing_env as EnvName | null,
    mapping: own.mapping,
  };
}

function ownSecrets({ outboundTokenEnv, outboundSigningEnv }: WebhookConfig): OwnSecret[] {
  const own: OwnSecret[] = [];
  if (outboundTokenEnv !== null) {
    own.push({ name: outboundTokenEnv, path: 'webhook.outbound_token_env' });
  }
  if (outboundSigningEnv !== null) {
    const path = 'webhook.outbound_signing_env';
    own.push({ name: outboundSigningEnv, path, fault: signingKeyFault });
  }
  return own;
}

type BlockDraft = Draft<typeof block> | null | undefined;

function checkMapping(
  draft: Draft<typeof mapping> | undefined,
  path: string,
  problems: ProblemList,
): void {
  const readBy = new Map<string, string>();
  for (const [field, key] of Object.entries(draft ?? {})) {
    if (key === undefined) continue;
    const other = readBy.get(key);
    readBy.set(key, field);
    if (other === undefined) continue;
    const at = problems.has(`${path}.${field}`) ? field : other;
    const message = `${other} and ${field} are read from one JSON key`;
    const remedy = 'Give each its own key, unless this is what you want.';
    problems.add('mapping_shared', `${path}.${at}`, message, remedy);
  }
}
