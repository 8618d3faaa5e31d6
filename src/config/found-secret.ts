/** What was found where secrets may stand. Plain facts: what they mean for a config, others say. */

/** The places, in the order in which they are asked: the first with a value wins. */
export const secretSources = ['environment', 'file', 'credential', 'keychain'] as const;
export type SecretSource = (typeof secretSources)[number];

export type FoundSecret =
  | {
      readonly kind: 'value';
      /** As it stands there, white space and all; it is more than white space. */
      readonly value: string;
      readonly source: SecretSource;
      /** Later places that were named for it too, and do not count. */
      readonly unused: readonly SecretSource[];
    }
  | {
      readonly kind: 'missing';
      /** Every place that was asked, as a person would find it, in order. */
      readonly looked: readonly SecretPlace[];
    }
  /** A place where it was put by hand cannot be read; no place after it was asked. */
  | {
      readonly kind: 'unreadable';
      readonly source: Exclude<SecretSource, 'environment'>;
      /** Begins with the name of a variable: `TOKEN_FILE names a file that …`. No full stop. */
      readonly message: string;
      readonly remedy: string;
    };

/** `text`: `TOKEN in the environment`; `empty`: it is there, and holds white space alone. */
export type SecretPlace = {
  readonly source: SecretSource;
  readonly text: string;
  readonly empty: boolean;
};

/** By name of variable. */
export type FoundSecrets = ReadonlyMap<string, FoundSecret>;
