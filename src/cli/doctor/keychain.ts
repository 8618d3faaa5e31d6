/** How the keychain stands, where secrets were put into it; else it is not asked. */
import { explainKeychain } from '../../keychain.ts';
import { failed, ok, warning, type PreflightLine } from '../../preflight/lines.ts';
import type { Keychain } from '../../secrets/secrets.ts';

const subject = 'keychain';

export async function keychainLines(
  keychain: Keychain,
  stop: AbortSignal,
): Promise<readonly PreflightLine[]> {
  const stored = await keychain.stored();
  if (stored.kind === 'fault') return [failed(subject, said(stored.message), stored.remedy)];
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
  const count = names.length - lost.length;
  const kept = `answers, and has ${count} ${count === 1 ? 'secret' : 'secrets'} of svc`;
  return [ok(subject, kept), ...lines];
}

/** A sentence as what follows the subject of a line. */
function said(message: string): string {
  return message.replace(/^The keychain |\.$/g, '').replace(/^[A-Z]/, (one) => one.toLowerCase());
}
