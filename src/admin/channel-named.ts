import {
  channelSynonyms,
  channelTypes,
  kindOf,
  messengerTypes,
  type ChannelType,
} from '../channels/registry.ts';
import { channelKeyOf, type ChannelKey } from '../domain/ids.ts';
import type { LedgerReader } from '../ledger/ledger.ts';

/** `several`: a sentence that asks for a more exact name. */
export type NamedChannel =
  | { readonly kind: 'found'; readonly key: ChannelKey }
  | { readonly kind: 'several'; readonly message: string };

const synonyms: ReadonlyMap<string, ChannelType> = new Map(Object.entries(channelSynonyms));

/** Finds the type with that name; undefined: there is none. */
export function channelTypeNamed(named: string): ChannelType | undefined {
  return channelTypes.find((one) => one === (synonyms.get(named) ?? named));
}

/**
 * Finds the channel that a person names: by its key, or a messenger by its type if only one bot of
 * it is known. An unknown name stays as written, and finds nothing.
 */
export async function findChannel(
  named: string,
  reader: Pick<LedgerReader, 'channelKeys'>,
): Promise<NamedChannel> {
  const [name = '', ...bot] = named.split(':');
  const type = messengerTypes.find((one) => one === (synonyms.get(name) ?? name));
  if (type === undefined) return { kind: 'found', key: named as ChannelKey };
  if (bot.length > 0) return { kind: 'found', key: channelKeyOf(type, bot.join(':')) };
  const keys = await reader.channelKeys(type);
  if (keys.length <= 1) return { kind: 'found', key: keys[0] ?? (type as string as ChannelKey) };
  return { kind: 'several', message: `Say of which bot: ${keys.join(' or ')}.` };
}

/** An example of a bot's name, for help texts. */
export const botExample = `${messengerTypes[0]}:4711`;

/** The channel filter of a list; `unknown`: a sentence that says which names are allowed. */
export type ChannelsAsked =
  | { readonly kind: 'found'; readonly channel: string }
  | { readonly kind: 'unknown'; readonly message: string };

/** Reads a list's channel filter: one channel by its key, or all of a type. */
export function channelsAsked(named: string): ChannelsAsked {
  const [name = '', ...bot] = named.split(':');
  const type = channelTypes.find((one) => one === (synonyms.get(name) ?? name));
  if (type !== undefined && (bot.length === 0 || kindOf(type).isMessenger)) {
    return { kind: 'found', channel: [type, ...bot].join(':') };
  }
  const types = channelTypes.join(', ');
  const bots = `or a bot of a messenger by its key (${botExample})`;
  return { kind: 'unknown', message: `channel is one of ${types}, ${bots}.` };
}
