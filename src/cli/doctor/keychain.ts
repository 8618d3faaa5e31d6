/** The keychain of the operating system, where secrets were stored in it. */
import { plural } from '../../domain/plural.ts';
import { explainKeychain } from '../../app/keychain.ts';
import { ok, warning, type PreflightLine } from '../../app/preflight/lines.ts';
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
  if (stored.kind === 'fault') return [warning(subject, said(stored.message), stored.remedy)];
  const names = stored.secrets.map(({ name }) => name);
  if (names.length === 0) return [];
  const state = await keychain.state(stop);
  if (state !== 'ready') {
    const { message, remedy } = explainKeychain(state);
    return [warning(subject, said(message), remedy)];
  }
  const held = await keychain.holds(names, stop);
  if (held.kind === 'fault') return [warning(subject, said(held.message), held.remedy)];
  const lost = names.filter((name) => !held.names.has(name));
  const lines = lost.map((name) => {
    const remedy = `Store it again with svc secrets set ${name}, or svc secrets delete ${name}.`;
    return warning(subject, `has lost ${name}, which was put there`, remedy);
  });
  const kept = plural(names.length - lost.length, 'secret');
  return [ok(subject, `answers; svc has ${kept} there`), ...lines];
}

/** A sentence as what follows the subject of a line. */
function said(message: string): string {
  return message.replace(/^The keychain |\.$/g, '').replace(/^[A-Z]/, (one) => one.toLowerCase());
}
