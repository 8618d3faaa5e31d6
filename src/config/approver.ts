import { channelSynonyms, findKind, type ChannelType } from '../channels/registry.ts';

/** Who may say yes or no; `name`, which the ledger keeps: the channel's type, `:` and the id. */
export type ApproverConfig = {
  readonly channel: ChannelType;
  readonly user: string;
  readonly name: string;
};

/** Null: it names no channel, or no user as that channel has them. */
export function parseApprover(text: string): ApproverConfig | null {
  const [, word = '', user = ''] = /^([^:]+):(\S{1,100})$/.exec(text) ?? [];
  const kind = findKind(Object.hasOwn(channelSynonyms, word) ? channelSynonyms[word]! : word);
  if (kind === undefined || (kind.isMessenger && !/^\d{1,32}$/.test(user))) return null;
  const channel = kind.type as ChannelType;
  return { channel, user, name: `${channel}:${user}` };
}
