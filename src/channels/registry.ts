/** Every kind of channel: a new one is its folder, a line here, and its maker in service.ts. */
import type { ListenAddress } from '../config/address.ts';
import type { ChannelKey } from '../domain/ids.ts';
import { channelKeyOf, channelTypeOf } from '../domain/ids.ts';
import { discord } from './discord/kind.ts';
import type { ChannelKind } from './kind.ts';
import { telegram } from './telegram/kind.ts';
import { webhook } from './webhook/kind.ts';

/** In the order in which people are told of them. */
const all = [telegram, discord, webhook] as const;

type Kinds = (typeof all)[number];
export type ChannelType = Kinds['type'];
export type MessengerType = Extract<Kinds, { readonly isMessenger: true }>['type'];
export type KindOf<Type extends ChannelType> = Extract<Kinds, { readonly type: Type }>;
export type ConfigOf<Type extends ChannelType> = ReturnType<KindOf<Type>['parse']>;

export type ChannelConfig = { [Type in ChannelType]: ConfigOf<Type> }[ChannelType];
export type MessengerConfig = ConfigOf<MessengerType>;
export type WebhookConfig = ConfigOf<'webhook'>;
/** A channel that listens: senders come to `bind` and `path`. */
export type ListenerConfig = Extract<ChannelConfig, { readonly bind: ListenAddress }>;

type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer Intersection,
) => void
  ? Intersection
  : never;
/** The own fields of all kinds, beside each other. */
export type OwnFields = All<Kinds['fields']>;

export const channelKinds: readonly ChannelKind[] = all;
export const channelTypes: readonly ChannelType[] = all.map(({ type }) => type);
export const messengerTypes: readonly MessengerType[] = all.flatMap((kind) =>
  kind.isMessenger ? [kind.type] : [],
);

/** What may stand for a type in a file, and the type. */
export const channelSynonyms: Readonly<Record<string, ChannelType>> = Object.fromEntries(
  all.flatMap(({ type, synonyms }) => synonyms.map((name) => [name, type])),
);

const byType = new Map<string, Kinds>(all.map((kind) => [kind.type, kind]));

/** undefined: no kind has this type. */
export function findKind(type: string): ChannelKind | undefined {
  return byType.get(type);
}

/** Whether it listens; else it connects to its platform. */
export function isListener(config: ChannelConfig): config is ListenerConfig {
  return kindOf(config.type).listener !== null;
}

export function isMessenger(config: ChannelConfig): config is MessengerConfig {
  return kindOf(config.type).isMessenger;
}

/** Whether a channel of that type is a messenger. */
export function isMessengerType(type: string): boolean {
  return findKind(type)?.isMessenger === true;
}

export function kindOf<Type extends ChannelType>(type: Type): KindOf<Type> {
  return byType.get(type) as KindOf<Type>;
}

/**
 * What people call it, inside a sentence: `Telegram`, `Telegram (bot 4711)`, `webhook`.
 * @param channel a type or a key; one of no known kind stays as it is
 */
export function channelName(channel: string): string {
  const kind = findKind(channelTypeOf(channel as ChannelKey));
  if (kind === undefined) return channel;
  const bot = channel.slice(kind.type.length + 1);
  const name = kind.isMessenger ? kind.name : kind.type;
  return bot === '' ? name : `${name} (bot ${bot})`;
}

/** The type of a channel that has run. */
export function kindTypeOf(channel: ChannelKey): ChannelType {
  return channelTypeOf(channel) as ChannelType;
}

/** The ledger's key of a channel with that token; null: the token is no bot's. */
export function channelKeyFor(type: ChannelType, token: string): ChannelKey | null {
  const kind: ChannelKind = kindOf(type);
  if (kind.botOf === undefined) return type as string as ChannelKey;
  const bot = kind.botOf(token);
  return bot === null ? null : channelKeyOf(type, bot);
}

/** With storage, for so long a message of this channel is recognised; milliseconds. */
export function dedupeMsOf(channel: ChannelKey): number {
  const dayMs = 24 * 3_600_000;
  return (findKind(channelTypeOf(channel))?.dedupeDays ?? dedupeDaysMost) * dayMs;
}

/** For a channel of no known kind: to forget too early would answer a message twice. */
const dedupeDaysMost = Math.max(...all.map(({ dedupeDays }) => dedupeDays));
