import {
  channelTypes,
  findKind,
  messengerTypes,
  type ChannelConfig,
} from '../channels/registry.ts';
import { isChannelName, registeredName } from '../config/config.ts';
import { botOf, channelKeyOf, type ChannelKey } from '../domain/ids.ts';
import type { LedgerReader } from '../ledger/ledger.ts';

/** `several`: a sentence that asks for a more exact name. */
export type NamedChannel =
  | { readonly kind: 'found'; readonly key: ChannelKey }
  | { readonly kind: 'several'; readonly message: string };

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
  const name = registeredName(written);
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

type Named = Pick<ChannelConfig, 'name' | 'type'>;

/**
 * Reads a list's channel filter: all bots of a name, one bot by its name (`support:4711`), or one
 * channel by its key. A type is the name of a channel that has no other.
 * @param channels that are configured; null: nobody knows them here, so every name is allowed
 */
export function channelsAsked(named: string, channels: readonly Named[] | null): ChannelsAsked {
  const colon = named.indexOf(':');
  const written = colon < 0 ? named : named.slice(0, colon);
  const bot = colon < 0 ? null : named.slice(colon + 1);
  const found = (of: Named | { name: string; type: string }): ChannelsAsked => {
    return { kind: 'found', channel: channelKeyOf(of, bot) };
  };
  const [own = '', ofType] = written.split('@', 2);
  if (ofType !== undefined) {
    const type = registeredName(ofType);
    if (isChannelName(own) && findKind(type) !== undefined) return found({ name: own, type });
  }
  const name = registeredName(written);
  const configured = channels?.find((one) => one.name === name);
  if (bot !== null && configured !== undefined) return found(configured);
  const isKnown = configured !== undefined || findKind(name) !== undefined;
  if (isKnown || (channels === null && isChannelName(name))) return found({ name, type: name });
  const names = new Set<string>([...channelTypes, ...(channels ?? []).map((one) => one.name)]);
  const ofBots = `or a bot of a messenger by its key (${botExample})`;
  return { kind: 'unknown', message: `channel is one of ${[...names].join(', ')}, ${ofBots}.` };
}
