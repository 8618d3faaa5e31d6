import {
  channelSynonyms,
  channelTypes,
  messengerTypes,
  type ChannelType,
} from '../channels/registry.ts';
import { isChannelName } from '../config/config.ts';
import { botOf, channelKeyOf, registeredNameOf, type ChannelKey } from '../domain/ids.ts';
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
 * Finds the channel that a person names: by its key, by its name and bot (`support:4711`), or by
 * its name alone if only one bot of it is known. An unknown name stays as written, and finds
 * nothing.
 */
export async function findChannel(
  named: string,
  reader: Pick<LedgerReader, 'channelKeys'>,
): Promise<NamedChannel> {
  const [written = '', ...bots] = named.split(':');
  if (written.includes('@')) return { kind: 'found', key: named as ChannelKey };
  const name = synonyms.get(written) ?? written;
  const bot = bots.length === 0 ? null : bots.join(':');
  const keys = await reader.channelKeys(name);
  if (bot !== null) {
    const known = keys.find((key) => botOf(key) === bot);
    return { kind: 'found', key: known ?? channelKeyOf({ name, type: name }, bot) };
  }
  if (keys.length <= 1) return { kind: 'found', key: keys[0] ?? (name as ChannelKey) };
  return { kind: 'several', message: `Say of which bot: ${keys.join(' or ')}.` };
}

/** An example of a bot's name, for help texts. */
export const botExample = `${messengerTypes[0]}:4711`;

/** The channel filter of a list; `unknown`: a sentence that says which names are allowed. */
export type ChannelsAsked =
  | { readonly kind: 'found'; readonly channel: string }
  | { readonly kind: 'unknown'; readonly message: string };

/** Reads a list's channel filter: one channel by its key, or all of a name. */
export function channelsAsked(named: string): ChannelsAsked {
  const [written = '', ...bots] = named.split(':');
  const name = synonyms.get(written) ?? written;
  if (isChannelName(registeredNameOf(name as ChannelKey))) {
    return { kind: 'found', channel: [name, ...bots].join(':') };
  }
  const types = channelTypes.join(', ');
  const ofBots = `or a bot of a messenger by its key (${botExample})`;
  return { kind: 'unknown', message: `channel is one of ${types}, ${ofBots}.` };
}
