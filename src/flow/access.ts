/** Who may talk on a messenger. Pure: one message, the rules of its channel, and who was let in. */
import type { AccessConfig } from '../config/config.ts';
import type { TurnedAwayReason } from '../domain/gate.ts';
import type { Inbound } from '../domain/message.ts';

/** `knocks`: a stranger who may be given a code. */
export type AccessDecision =
  | { readonly kind: 'passes' }
  | { readonly kind: 'knocks' }
  | { readonly kind: 'turned_away'; readonly reason: TurnedAwayReason };

/** The rules of a messenger whose configuration has none: anyone, in groups when addressed. */
export const openAccess: AccessConfig = { allow: null, groups: 'mention', pairing: false };

const passes: AccessDecision = { kind: 'passes' };
const knocks: AccessDecision = { kind: 'knocks' };

/**
 * The setting is judged before the sender: who said a group message to others is not looked at. A
 * code is given in a direct chat alone, since nobody else reads it there.
 * @param isAdmitted who was let in by a code; they count while pairing is on
 */
export function judge(
  { allow, groups, pairing }: AccessConfig,
  isAdmitted: (sender: string) => boolean,
  { sender, setting = 'direct' }: Inbound,
): AccessDecision {
  if (setting !== 'direct' && groups === 'off') return turnedAway('groups_off');
  if (setting === 'overheard' && groups === 'mention') return turnedAway('not_addressed');
  if (allow === null && !pairing) return passes;
  if (allow !== null && allow.includes(sender.id)) return passes;
  if (!pairing) return turnedAway('stranger');
  if (isAdmitted(sender.id)) return passes;
  return setting === 'direct' ? knocks : turnedAway('stranger');
}

function turnedAway(reason: TurnedAwayReason): AccessDecision {
  return { kind: 'turned_away', reason };
}
