/** What the gate of a messenger tells people: whom it turned away, and who asks to be let in. */
import type { ChannelKey } from './ids.ts';

/**
 * `stranger`: not on the list. `code_pending`: a stranger who was given a code within the hour.
 * `codes_out`: a stranger, and as many codes wait for the operator as may. `groups_off` and
 * `not_addressed`: said in a group where svc is silent, or said to others in a group.
 */
export const turnedAwayReasons = [
  'stranger',
  'code_pending',
  'codes_out',
  'groups_off',
  'not_addressed',
] as const;
export type TurnedAwayReason = (typeof turnedAwayReasons)[number];

/** What one sender tried in vain for one reason; nothing of what was said. */
export type TurnedAway = {
  readonly channel: ChannelKey;
  readonly sender: string;
  readonly reason: TurnedAwayReason;
  readonly count: number;
  /** The last time, milliseconds since 1970. */
  readonly at: number;
};

/** Someone who was let in by a code, or who was given one that still counts. */
export type Pairing = {
  /** The channel's type: a platform's user ids are the same for each of its bots. */
  readonly channel: string;
  readonly sender: string;
  readonly name: string | null;
  readonly state: 'admitted' | 'asking';
  /** When they were admitted, or when their code ends; milliseconds since 1970. */
  readonly at: number;
};

export type Admission =
  | { readonly kind: 'admitted'; readonly pairing: Pairing }
  | { readonly kind: 'not_found' | 'full' | 'storage_failed' };

export type PairingRemoval = 'done' | 'not_found' | 'storage_failed';

/** The answer to a code that lets nobody in. */
export const unknownCode =
  'No code like this waits: it was mistyped, used, or given more than an hour ago.';

/** How an operator lets people in. */
export interface Admissions {
  list(): Promise<readonly Pairing[]>;
  /** @param code as a stranger was given it; case, spaces and hyphens do not count */
  admit(code: string): Promise<Admission>;
  /** Someone who was let in becomes a stranger again; a code that waits no longer counts. */
  remove(channel: string, sender: string): Promise<PairingRemoval>;
}
