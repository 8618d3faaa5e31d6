/**
 * Conditions that both the steps and their pages use: which choices are possible in a state. Pure.
 */
import { secretsOf, localityOf } from './document.ts';
import type { SetupState, Vendor } from './state.ts';

/** Whether the model needs a key. A local model may do without. */
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
 * Whether svc can store something in the keychain. With a locked keychain, only a window can: the
 * keychain then asks the person for its password.
 */
export function mayKeep({ facts: { frontend, place } }: Pick<SetupState, 'facts'>): boolean {
  return place?.keychain === 'ready' || (frontend === 'window' && place?.keychain === 'locked');
}

/**
 * Whether every secret has a value by now. A service that a systemd unit starts is not started
 * here: it would run as another user, with other secrets.
 */
export function mayStart({ draft, facts }: Pick<SetupState, 'draft' | 'facts'>): boolean {
  if (facts.place?.isUnit === true) return false;
  return secretsOf(draft, facts).every(({ is }) => is !== 'later');
}

/** Whether everything that the running service needs outlasts this process. */
export function mayGoOn({ draft, facts: { frontend, written } }: SetupState): boolean {
  const isWhole = draft.model?.kind !== 'practice' && (written?.unset ?? []).length === 0;
  return frontend === 'window' && isWhole;
}
