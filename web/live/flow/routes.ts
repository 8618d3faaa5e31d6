/** The routes of a channel as lines of the map. */
import type { ChannelStatus, RouteStatus } from '../../../src/admin/admin.ts';
import { nameOf } from '../channels.ts';

/** `words` as in `1: chat -100123`. */
export type FlowRoute = { readonly words: string; readonly brain: string };

type Route = Pick<RouteStatus, 'brain' | 'number' | 'when'>;

/** The lines in words; none for a channel whose only route takes every message. */
export function linesOf(routes: readonly Route[]): readonly FlowRoute[] {
  if (routes.length <= 1 && routes.every(({ when }) => when === null)) return [];
  return routes.map((one) => ({ words: wordsOf(one), brain: one.brain }));
}

/** The routes of a channel, in the order in which svc tries them. */
export function routesOf(
  channel: Pick<ChannelStatus, 'name' | 'type' | 'brain'>,
  routes: readonly RouteStatus[] | null,
): readonly Route[] {
  const own = (routes ?? []).filter((one) => one.channel === nameOf(channel));
  if (own.length > 0) return own;
  const { brain } = channel;
  return brain === null ? [] : [{ brain, number: null, when: null }];
}

/** `2: chat -100123`; a reader without the token sees the kinds of conditions alone. */
function wordsOf({ number, when }: Route): string {
  const words =
    when === null
      ? 'every other message'
      : when
          .map(({ key, entries }) => (entries === null ? key : `${key} ${entries.join(' or ')}`))
          .join(', ');
  return number === null ? words : `${number}: ${words}`;
}
