/** Replaces the shared configuration while no svc runs on its database, and writes an audit row. */
import { revisionOf } from '../../config/inspect.ts';
import { ConfigsFailed, type SharedConfigs } from '../../cluster/backend.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { noter } from './audited.ts';

/** `message` is a sentence. */
export type Replaced =
  | { readonly kind: 'replaced' | 'same'; readonly revision: string }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * @param ledger of the same database, which this process has alone
 * @param now the ledger's time of day
 */
export async function replaceShared(
  configs: SharedConfigs,
  ledger: Ledger,
  text: string,
  now: () => number,
): Promise<Replaced> {
  const revision = revisionOf(text);
  try {
    const before = await configs.replace({ revision, text, by: 'command' });
    if (before === revision) return { kind: 'same', revision };
    const target = { from: before ?? '', to: revision };
    await noter(ledger, now)({ action: 'config_use', target, status: 200, reason: null });
    return { kind: 'replaced', revision };
  } catch (error) {
    if (!(error instanceof ConfigsFailed)) throw error;
    return { kind: 'failed', message: error.message };
  }
}
