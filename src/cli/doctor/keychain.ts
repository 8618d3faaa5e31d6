/** The keychain of the operating system, where secrets were stored in it. */
import { plural } from '../../domain/plural.ts';
import { explainKeychain } from '../../keychain.ts';
import { ok, warning, type PreflightLine } from '../../preflight/lines.ts';
import type { Keychain } from '../../secrets/secrets.ts';

const subject = 'keychain';

/**
 * No line where nothing was stored: the keychain is not asked then. No prompt opens. A keychain
 * that does not answer is a warning, since the secrets that are missed for it fail by themselves.
 */
export async function keychainLines(
  keychain: Keychain,
  stop: AbortSignal,
): Promise<readonly PreflightLine[]> {
  const stored = await keychain.stored();
  if (stored.kind === 'fault') return [warning(subject, sayIn(stored.message), stored.remedy)];
  const count = stored.secrets.length;
  if (count === 0) return [];
  const state = await keychain.state(stop);
  if (state === 'ready') return [ok(subject, `answers; svc has ${plural(count, 'secret')} there`)];
  const { message, remedy } = explainKeychain(state);
  return [warning(subject, sayIn(message), remedy)];
}

/** A line has no full stop before its remedy. */
function sayIn(message: string): string {
  return message.replace(/\.$/, '');
}
