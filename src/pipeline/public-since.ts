/**
 * Since when a messenger's channel has been answered by public brains without a break. What people
 * said to each other before may have been meant for a private one.
 */
import { isMessengerType } from '../channels/registry.ts';
import { channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import type { Sensitivity } from '../domain/sensitivity.ts';
import type { Ledger } from '../ledger/ledger.ts';

const name = 'public_since';
const isPrivate = 'private';
/** How far the platform's clock may be from this one. */
export const marginMs = 60_000;

/** @returns null: it is not public, or that cannot be read now */
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

/** A channel with its brain, as a plan has them. */
export type Lines = ReadonlyMap<
  ChannelKey,
  { readonly brain: { readonly sensitivity: Sensitivity } }
>;

/**
 * To be called before a plan is used with `private`, and once it is used with `public`: what is
 * said in between counts as private.
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
