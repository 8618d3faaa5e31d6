/**
 * The registry of all kinds of channel. A new kind needs its folder, a line here, and its maker in
 * `src/app/service.ts`.
 */
import type { ListenAddress } from '../config/address.ts';
import { dayMs } from '../lib/durations.ts';
import {
  botOf,
  channelKeyOf,
  channelTypeOf,
  registeredNameOf,
  type ChannelKey,
} from '../domain/ids.ts';
import { discord } from './discord/kind.ts';
import type { ChannelKind } from './kind.ts';
import { telegram } from './telegram/kind.ts';
import { webhook } from './webhook/kind.ts';

/** In the order in which svc lists them to a person. */
const all = [telegram, discord, webhook] as const;

type Kind = (typeof all)[number];
export type ChannelType = Kind['type'];
/** Of a channel that runs: its kind, or the completions API, which no file lists. */
export type RunningType = ChannelType | 'completions';
export type MessengerType = Extract<Kind, { readonly isMessenger: true }>['type'];
export type KindOf<Type extends ChannelType> = Extract<Kind, { readonly type: Type }>;
export type ConfigOf<Type extends ChannelType> = ReturnType<KindOf<Type>['parse']> & Named;
/** `name`: the name by which routes and grants know the channel; its type if it has no other. */
type Named = { readonly name: string };

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
 * A channel's name inside a sentence: `Telegram`, `Telegram (bot 4711)`, `support (bot 4711)`.
 * @param channel a registered name or a key; the name of an unknown kind is this text
 */
export function channelName(channel: string): string {
  const key = channel as ChannelKey;
  const name = registeredNameOf(key);
  const kind = findKind(name);
  const bot = botOf(key);
  if (kind === undefined && findKind(channelTypeOf(key)) === undefined) return channel;
  const shown = kind?.isMessenger === true ? kind.name : name;
  return bot === null ? shown : `${shown} (bot ${bot})`;
}

/** @returns the ledger's key of a channel with this token; null when it is not a bot's token */
export function channelKeyFor(
  channel: Pick<ChannelConfig, 'name' | 'type'>,
  token: string,
): ChannelKey | null {
  const kind: ChannelKind = kindOf(channel.type);
  if (kind.botOf === undefined) return channelKeyOf(channel, null);
  const bot = kind.botOf(token);
  return bot === null ? null : channelKeyOf(channel, bot);
}

/** The keys of the channel with this registered name lie between these two, or are the name. */
export function keysOf(name: string): readonly [after: string, before: string] {
  // In ASCII `;` follows the colon, and `A` follows `@`: no key of this name is greater.
  return findKind(name) === undefined ? [`${name}@`, `${name}A`] : [`${name}:`, `${name};`];
}

/** The type of a channel that has run, so that its kind is known. */
export function kindTypeOf(channel: ChannelKey): ChannelType {
  return channelTypeOf(channel) as ChannelType;
}

/** How long svc recognises a message that comes again, with storage; milliseconds. */
export function dedupeMsOf(channel: ChannelKey): number {
  return (findKind(channelTypeOf(channel))?.dedupeDays ?? dedupeDaysMost) * dayMs;
}

/** For a channel of an unknown kind. Forgetting a message too early would answer it twice. */
const dedupeDaysMost = Math.max(...all.map(({ dedupeDays }) => dedupeDays));
