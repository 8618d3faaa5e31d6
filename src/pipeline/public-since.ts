/**
 * Since when public brains alone have answered a messenger's channel. Earlier messages of
 * people to each other may have been meant for a private brain.
 */
import { isMessengerType } from '../channels/registry.ts';
import { channelTypeOf, type ChannelKey } from '../domain/ids.ts';
import { strictest, type Sensitivity } from '../domain/sensitivity.ts';
import type { Ledger } from '../ledger/ledger.ts';

const cursorName = 'public_since';
const privateMark = 'private';
/** How far the platform's clock may differ from this one. */
export const marginMs = 60_000;

/** @returns null: the channel is not public, or its time cannot be read now */
export async function publicSinceOf(
  ledger: Pick<Ledger, 'cursor'>,
  channel: ChannelKey,
): Promise<number | null> {
  const stored = await ledger.cursor(channel, cursorName).catch(() => null);
  return stored === null || !/^\d{1,16}$/.test(stored) ? null : Number(stored);
}

export function isPublicSince(since: number | null, at: number): boolean {
  return since !== null && at > since + marginMs;
}

/** Each channel with the brains of its routes, in one running configuration. */
export type RoutedBrains = ReadonlyMap<
  ChannelKey,
  { readonly routes: readonly { readonly brain: { readonly sensitivity: Sensitivity } }[] }
>;

/**
 * Call it with `private` before a configuration is used, and with `public` once it is in use:
 * messages in between count as private.
 */
export async function keepPublicSince(
  ledger: Pick<Ledger, 'accept' | 'cursor'>,
  routes: RoutedBrains,
  become: Sensitivity,
  now: number,
): Promise<void> {
  for (const [channel, { routes: own }] of routes) {
    const label = strictest(...own.map(({ brain }) => brain.sensitivity));
    if (label !== become || !isMessengerType(channelTypeOf(channel))) continue;
    const stored = await ledger.cursor(channel, cursorName);
    const isStored =
      become === 'private' ? stored === privateMark : stored !== null && stored !== privateMark;
    if (isStored) continue;
    const value = become === 'private' ? privateMark : String(now);
    const acceptance = await ledger.accept([], { channel, name: cursorName, value });
    if (acceptance.kind === 'refused')
      throw new Error(`since when it is public: ${acceptance.reason}`);
  }
}
