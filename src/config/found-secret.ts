/**
 * The result of looking up a secret: its value with the source, or why there is none.
 * `config/secrets.ts` decides what a result means for a config.
 */

/** The places in the order of the look-up. The first one with a value wins. */
export const secretSources = ['environment', 'file', 'credential', 'keychain'] as const;
export type SecretSource = (typeof secretSources)[number];

export type SecretLookupResult =
  | {
      readonly kind: 'value';
      /** Unchanged, with all white space. It is never white space alone. */
      readonly value: string;
      readonly source: SecretSource;
      /** Later places that are set for this name, too. svc does not use them. */
      readonly unused: readonly SecretSource[];
    }
  | {
      readonly kind: 'missing';
      /** Every place of the look-up, in order, in words for a person. */
      readonly looked: readonly SecretPlace[];
    }
  /** svc cannot read a place that a person named for this secret. The look-up ends there. */
  | {
      readonly kind: 'unreadable';
      readonly source: Exclude<SecretSource, 'environment'>;
      /** Begins with the name of a variable: `TOKEN_FILE names a file that …`. No full stop. */
      readonly message: string;
      readonly remedy: string;
    };

/** `text` is such as `TOKEN in the environment`. `empty`: the place has only white space. */
export type SecretPlace = {
  readonly source: SecretSource;
  readonly text: string;
  readonly empty: boolean;
};

/** By the name of the variable. */
export type SecretLookupResults = ReadonlyMap<string, SecretLookupResult>;
