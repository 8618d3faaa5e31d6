/**
 * Since when public brains have answered a messenger's channel without a break. Earlier messages of
 * people to each other may have been meant for a private brain.
 */
import { isMessengerType } from '../channels/registry.ts';
import { channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Ledger } from '../ledger/ledger.ts';

const name = 'public_since';
const isPrivate = 'private';
/** How far the platform's clock may differ from this one. */
export const marginMs = 60_000;

/** @returns null: the channel is not public, or its time cannot be read now */
export async function publicSinceOf(
  ledger: Pick<Ledger, 'cursor'>,
  channel: ChannelKey,
): Promise<number | null> {
  const kept = await ledger.cursor(channel, name).catch(() => null);
  return kept === null || !/^\d{1,16}$/.test(kept) ? null : Number(kept);
}

export function isPublicSince(since: number | null, at: number): boolean {
  return since !== null && at > since + marginMs;
}

/** Each channel with its brain, in one running configuration. */
export type Lines = ReadonlyMap<
  ChannelKey,
  { readonly brain: { readonly sensitivity: Sensitivity } }
>;

/**
 * Call it with `private` before a configuration is used, and with `public` once it is in use:
 * messages in between count as private.
 */
export async function keepPublicSince(
  ledger: Pick<Ledger, 'accept' | 'cursor'>,
  lines: Lines,
  become: Sensitivity,
  now: number,
): Promise<void> {
  for (const [channel, { brain }] of lines) {
    if (brain.sensitivity !== become || !isMessengerType(channelTypeOf(channel))) continue;
    const kept = await ledger.cursor(channel, name);
    const isKept = become === 'private' ? kept === isPrivate : kept !== null && kept !== isPrivate;
    if (isKept) continue;
    const value = become === 'private' ? isPrivate : String(now);
    const told = await ledger.accept([], { channel, name, value });
    if (told.kind === 'refused') throw new Error(`since when it is public: ${told.reason}`);
  }
}
