/** Why a storage cannot be used. */
export type StoreProblem = {
  readonly kind: 'problem';
  readonly code: string;
  /** What is wrong, and what a person can do about it. */
  readonly message: string;
  /** Whether the next start may find it gone; of the others only a person can rid us. */
  readonly isPassing: boolean;
};
