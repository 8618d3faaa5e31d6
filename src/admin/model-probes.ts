/** Looking at a model of the configuration in use: is it there? Nothing of anyone is sent. */
import type { FailureKind } from '../domain/failure.ts';
import type { ModelName } from '../domain/ids.ts';

export interface ModelProbes {
  /** `none`: no brain may ask such a model. `busy`: too many are looked at. It takes up to 5 s. */
  look(
    name: string,
  ): Promise<
    { readonly kind: 'looked'; readonly look: ModelProbe } | { readonly kind: 'none' | 'busy' }
  >;
}

export type ModelProbe = {
  readonly model: ModelName;
  /** Where its provider is asked. */
  readonly address: string;
  /** The name of the variable that holds its key; null: it needs none. */
  readonly keyEnv: string | null;
  /** Why it will not answer; null: nothing speaks against it. */
  readonly failure: { readonly kind: FailureKind; readonly detail: string } | null;
  /** Where a local runtime lacks the model: some that it has. */
  readonly others: readonly string[];
};
