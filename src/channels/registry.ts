/**
 * The registry of all kinds of channel. A new kind needs its folder, a line here, and its maker in
 * `src/app/service.ts`.
 */
import type { ListenAddress } from '../config/address.ts';
import { dayMs } from '../lib/durations.ts';
import { channelKeyOf, channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import { discord } from './discord/kind.ts';
import type { ChannelKind } from './kind.ts';
import { telegram } from './telegram/kind.ts';
import { webhook } from './webhook/kind.ts';

/** In the order in which svc lists them to a person. */
const all = [telegram, discord, webhook] as const;

type Kind = (typeof all)[number];
export type ChannelType = Kind['type'];
export type MessengerType = Extract<Kind, { readonly isMessenger: true }>['type'];
export type KindOf<Type extends ChannelType> = Extract<Kind, { readonly type: Type }>;
export type ConfigOf<Type extends ChannelType> = ReturnType<KindOf<Type>['parse']>;

export type ChannelConfig = { [Type in ChannelType]: ConfigOf<Type> }[ChannelType];
export type MessengerConfig = ConfigOf<MessengerType>;
export type WebhookConfig = ConfigOf<'webhook'>;
/** A channel that listens: senders come to `bind` and `path`. */
export type ListenerConfig = Extract<ChannelConfig, { readonly bind: ListenAddress }>;

type IntersectionOf<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer Intersection,
) => void
  ? Intersection
  : never;
/** The fields that the kinds add, of all kinds together. */
export type OwnFields = IntersectionOf<Kind['fields']>;

export const channelKinds: readonly ChannelKind[] = all;
export const channelTypes: readonly ChannelType[] = all.map(({ type }) => type);
export const messengerTypes: readonly MessengerType[] = all.flatMap((kind) =>
  kind.isMessenger ? [kind.type] : [],
);

/** The type for each synonym that a file may use. */
export const channelSynonyms: Readonly<Record<string, ChannelType>> = Object.fromEntries(
  all.flatMap(({ type, synonyms }) => synonyms.map((name) => [name, type])),
);

const byType = new Map<string, Kind>(all.map((kind) => [kind.type, kind]));

/** @returns undefined when no kind has this type */
export function findKind(type: string): ChannelKind | undefined {
  return byType.get(type);
}

/** Whether the channel listens. Any other channel connects to its platform. */
export function isListener(config: ChannelConfig): config is ListenerConfig {
  return kindOf(config.type).listener !== null;
}

export function isMessenger(config: ChannelConfig): config is MessengerConfig {
  return kindOf(config.type).isMessenger;
}

/** @returns false also for a type that no kind has */
export function isMessengerType(type: string): boolean {
  return findKind(type)?.isMessenger === true;
}

export function kindOf<Type extends ChannelType>(type: Type): KindOf<Type> {
  return byType.get(type) as KindOf<Type>;
}

/**
 * A channel's name inside a sentence: `Telegram`, `Telegram (bot 4711)`, `webhook`.
 * @param channel a type or a key; the name of an unknown kind is this text
 */
export function channelName(channel: string): string {
  const kind = findKind(channelTypeOf(channel as ChannelKey));
  if (kind === undefined) return channel;
  const bot = channel.slice(kind.type.length + 1);
  const name = kind.isMessenger ? kind.name : kind.type;
  return bot === '' ? name : `${name} (bot ${bot})`;
}

/** The type of a channel that has run, so that its kind is known. */
export function kindTypeOf(channel: ChannelKey): ChannelType {
  return channelTypeOf(channel) as ChannelType;
}

/** @returns the ledger's key of a channel with this token; null when it is not a bot's token */
export function channelKeyFor(type: ChannelType, token: string): ChannelKey | null {
  const kind: ChannelKind = kindOf(type);
  if (kind.botOf === undefined) return type as string as ChannelKey;
  const bot = kind.botOf(token);
  return bot === null ? null : channelKeyOf(type, bot);
}

/** How long svc recognises a message that comes again, with storage; milliseconds. */
export function dedupeMsOf(channel: ChannelKey): number {
  return (findKind(channelTypeOf(channel))?.dedupeDays ?? dedupeDaysMost) * dayMs;
}

/** For a channel of an unknown kind. Forgetting a message too early would answer it twice. */
const dedupeDaysMost = Math.max(...all.map(({ dedupeDays }) => dedupeDays));
