/** Who may talk on a messenger. Pure: one message, the rules of its channel, and who was let in. */
import type { AccessConfig } from '../config/config.ts';
import type { TurnedAwayReason } from '../domain/gate.ts';
import type { Inbound } from '../domain/message.ts';

/** `pairingRequests`: a stranger who may be given a code. */
export type AccessDecision =
  | { readonly kind: 'passes' }
  | { readonly kind: 'knocks' }
  | { readonly kind: 'turned_away'; readonly reason: TurnedAwayReason };

/** The rules of a messenger whose configuration has none: anyone, in groups when addressed. */
export const openAccess: AccessConfig = { allow: null, groups: 'mention', pairing: false };

export type Known = {
  /** Who was let in by a code; they count while pairing is on. */
  readonly isAdmitted: (sender: string) => boolean;
  /** Whether it is one of the channel's commands. */
  readonly knows: (inbound: Inbound) => boolean;
};

const passes: AccessDecision = { kind: 'passes' };
const pairingRequests: AccessDecision = { kind: 'knocks' };

/**
 * The setting is judged before the sender: who said a group message to others is not looked at. A
 * code is given in a direct chat alone, since nobody else reads it there. A command that names
 * nobody is said to others where it is none of ours.
 */
export function judge(
  { allow, groups, pairing }: AccessConfig,
  { isAdmitted, knows }: Known,
  inbound: Inbound,
): AccessDecision {
  const { sender, setting = 'direct' } = inbound;
  if (setting !== 'direct' && groups === 'off') return turnedAway('groups_off');
  const isAddressed = setting === 'command' ? knows(inbound) : setting !== 'overheard';
  if (!isAddressed && groups === 'mention') return turnedAway('not_addressed');
  if (allow === null && !pairing) return passes;
  if (allow !== null && allow.includes(sender.id)) return passes;
  if (!pairing) return turnedAway('stranger');
  if (isAdmitted(sender.id)) return passes;
  return setting === 'direct' ? pairingRequests : turnedAway('stranger');
}

function turnedAway(reason: TurnedAwayReason): AccessDecision {
  return { kind: 'turned_away', reason };
}
