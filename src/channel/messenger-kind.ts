/** What the kinds of all messengers have in common. */
import { withoutSlashes } from '../config/address.ts';
import type { AccessConfig, EnvName } from '../config/config.ts';
import { checkEncrypted } from '../config/not-encrypted.ts';
import type { ChannelKind } from './kind.ts';

export const messenger = {
  isMessenger: true,
  fields: {},
  requires: [],
  listener: null,
  check: ({ base_url: url }: { readonly base_url?: string | null }, path, problems) =>
    checkEncrypted(url, 'the bot token', `${path}.base_url`, problems),
} as const satisfies Partial<ChannelKind>;

/** What every messenger's channel has in a file without problems. */
export type MessengerDocument = {
  readonly token_env: string;
  readonly base_url: string | null;
  readonly access: AccessConfig | null;
};

/** @param document of one channel, without problems */
export function parseMessenger<Type extends string>(type: Type, document: MessengerDocument) {
  const { token_env: tokenEnv, base_url: baseUrl, access } = document;
  return { type, tokenEnv: tokenEnv as EnvName, baseUrl: withoutSlashes(baseUrl), access };
}
