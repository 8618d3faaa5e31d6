/** What may be done where: what the steps and their pages both go by. Pure. */
import { secretsOf, localityOf } from './document.ts';
import type { SetupState, Vendor } from './state.ts';

/** Whether the model needs a key: one near may do without. */
export function needsKey(
  { facts }: SetupState,
  vendor: Vendor,
  baseUrl: string,
  isPasted: boolean,
): boolean {
  if (isPasted || isKeyed(facts.models?.keyed ?? [], vendor)) return true;
  return localityOf({ provider: 'hosted_runtime', modelId: '', baseUrl }) === 'cloud';
}

export function isKeyed(keyed: readonly Vendor[], { keyEnv }: Vendor): boolean {
  return keyed.some((one) => one.keyEnv === keyEnv);
}

/**
 * Whether the keychain can be asked to keep something: at a locked one in a window, it asks the
 * person for its password.
 */
export function mayKeep({ facts: { frontend, place } }: Pick<SetupState, 'facts'>): boolean {
  return place?.keychain === 'ready' || (frontend === 'window' && place?.keychain === 'locked');
}

/**
 * Whether every secret has a value by now. What is a unit's to start is not started here: it would
 * run as another user, and with other secrets.
 */
export function mayStart({ draft, facts }: Pick<SetupState, 'draft' | 'facts'>): boolean {
  if (facts.place?.isUnit === true) return false;
  return secretsOf(draft, facts).every(({ is }) => is !== 'later');
}

/** Whether the service that runs has all that it needs from places that outlast this process. */
export function mayGoOn({ draft, facts: { frontend, written } }: SetupState): boolean {
  const isWhole = draft.model?.kind !== 'practice' && (written?.unset ?? []).length === 0;
  return frontend === 'window' && isWhole;
}
