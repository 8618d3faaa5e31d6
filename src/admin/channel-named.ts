import {
  channelTypes,
  findKind,
  isMessengerType,
  messengerTypes,
  type ChannelConfig,
} from '../channels/registry.ts';
import { isChannelName, registeredName, type Config } from '../config/config.ts';
import { botOf, channelKeyOf, completionsChannel, type ChannelKey } from '../domain/ids.ts';
import type { LedgerReader } from '../ledger/ledger.ts';

/** The channels of a configuration by their registered names; last the completions API. */
export function channelsIn({
  channels,
  completions,
}: Pick<Config, 'channels' | 'completions'>): readonly NamedAs[] {
  const api = { name: completionsChannel, type: completionsChannel };
  return completions === null ? channels : [...channels, api];
}

type NamedAs = { readonly name: string; readonly type: string };

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

/** @returns the registered name, and its type; null: nobody knows its type */
function nameAndType(
  written: string,
  channels: readonly Named[] | null,
): readonly [name: string, type: string | null] {
  const [own = '', ofType] = written.split('@', 2);
  if (ofType !== undefined) {
    const type = registeredName(ofType);
    return [own, isChannelName(own) && findKind(type) !== undefined ? type : null];
  }
  const name = registeredName(written);
  if (name === completionsChannel) return [name, name];
  const configured = channels?.find((one) => one.name === name);
  return [name, configured?.type ?? findKind(name)?.type ?? null];
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
  const [name, type] = nameAndType(written, channels);
  const isMessenger = isMessengerType(type ?? '');
  if (type !== null && (bot === null || isMessenger)) {
    // The key of a messenger without a bot is no key: it stands for all bots of the name.
    const isName = bot === null && (isMessenger || !written.includes('@'));
    return { kind: 'found', channel: isName ? name : channelKeyOf({ name, type }, bot) };
  }
  if (channels === null && isChannelName(name)) return { kind: 'found', channel: named };
  const own = channels?.map((one) => one.name) ?? ['the name that a channel has'];
  const names = new Set<string>([...channelTypes, completionsChannel, ...own]);
  const ofBots = `or a bot of a messenger by its key (${botExample})`;
  return { kind: 'unknown', message: `channel is one of ${[...names].join(', ')}, ${ofBots}.` };
}
