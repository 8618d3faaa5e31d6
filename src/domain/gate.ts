/**
 * The results of a messenger's gate: senders that it turned away, and pairings of people who ask
 * for admission.
 */
import type { ChannelKey } from './ids.ts';

/**
 * Why the gate turned a message away.
 * - `stranger`: the sender is not on the list.
 * - `code_pending`: a stranger who got a code within the last hour.
 * - `codes_out`: a stranger, while the most codes that may wait already wait for the operator.
 * - `groups_off`: written in a group where svc is silent.
 * - `not_addressed`: written to others in a group.
 */
export const turnedAwayReasons = [
  'stranger',
  'code_pending',
  'codes_out',
  'groups_off',
  'not_addressed',
] as const;
export type TurnedAwayReason = (typeof turnedAwayReasons)[number];

/** The messages of one sender that were turned away for one reason, without their text. */
export type TurnedAway = {
  readonly channel: ChannelKey;
  readonly sender: string;
  readonly reason: TurnedAwayReason;
  readonly count: number;
  /** The time of the last one, milliseconds since 1970. */
  readonly at: number;
};

/** A person who was admitted by a code, or who has a code that is still valid. */
export type Pairing = {
  /** The channel's registered name. */
  readonly channel: string;
  readonly sender: string;
  readonly name: string | null;
  readonly state: 'admitted' | 'asking';
  /** The time of the admission, or the time when the code ends; milliseconds since 1970. */
  readonly at: number;
};

export type Admission =
  | { readonly kind: 'admitted'; readonly pairing: Pairing }
  | { readonly kind: 'not_found' | 'full' | 'storage_failed' };

export type PairingRemoval = 'done' | 'not_found' | 'storage_failed';

/** The answer to an unknown code. */
export const unknownCode =
  'No code like this waits: it was mistyped, used, or given more than an hour ago.';

/** The operator's way to admit people. */
export interface Admissions {
  list(): Promise<readonly Pairing[]>;
  /** @param code the code that a stranger got; case, spaces and hyphens do not count */
  admit(code: string): Promise<Admission>;
  /** An admitted person becomes a stranger again. A code that still waits becomes invalid. */
  remove(channel: string, sender: string): Promise<PairingRemoval>;
}
