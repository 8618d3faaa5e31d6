/** What the kinds of all messengers have in common. */
import { withoutSlashes } from '../config/address.ts';
import type { AccessConfig, EnvName } from '../config/config.ts';

export const messenger = {
  isMessenger: true,
  fields: {},
  requires: [],
  listener: null,
} as const;

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
