/** The configuration that all kinds of messenger share. */
import { withoutSlashes, checkEncrypted } from '../../config/address.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { ChannelKind } from '../kind.ts';

export const messenger = {
  isMessenger: true,
  fields: {},
  requires: [],
  listener: null,
  check: ({ base_url: url }: { readonly base_url?: string | null }, path, problems) =>
    checkEncrypted(url, 'the bot token', `${path}.base_url`, problems),
} as const satisfies Partial<ChannelKind>;

type AccessConfig = {
  /** Platform user ids; null: anyone. */
  readonly allow: readonly string[] | null;
  readonly groups: 'mention' | 'all' | 'off';
  readonly pairing: boolean;
};

/** A server with the transcriptions of the OpenAI API. `baseUrl` has no trailing slash. */
type SpeechConfig = { readonly baseUrl: string; readonly model: string };

/** A messenger's channel in a document without problems. */
export type MessengerDocument = {
  readonly token_env: string;
  readonly base_url: string | null;
  readonly access: AccessConfig | null;
  readonly streaming: boolean;
  readonly gather_ms: number;
  readonly edits: boolean;
  readonly speech: { readonly base_url: string; readonly model: string } | null;
};

/** @param document the channel's part of a document without problems */
export function parseMessenger<Type extends string>(type: Type, document: MessengerDocument) {
  const { token_env: tokenEnv, base_url: baseUrl, access, streaming, edits, speech } = document;
  return {
    type,
    tokenEnv: tokenEnv as EnvName,
    baseUrl: withoutSlashes(baseUrl),
    access,
    streaming,
    gatherMs: document.gather_ms,
    edits,
    speech: speech && parseSpeech(speech),
  };
}

function parseSpeech({
  base_url: url,
  model,
}: NonNullable<MessengerDocument['speech']>): SpeechConfig {
  return { baseUrl: withoutSlashes(url) ?? url, model };
}
