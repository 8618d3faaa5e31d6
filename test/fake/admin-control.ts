/** The configuration of the admin API's tests: the current revision and the one before it. */
import type { ConfigControl } from '../../src/config/config-control.ts';
import { ids, type Calls } from './admin-ledger.ts';

export const configText = '{"note":"of the operator alone"}';

/** @param revision of the current configuration; rows have more fields than their type */
export function fakeControl(calls: Calls, revision: string): ConfigControl {
  const more = { secret: 'of nobody' };
  const kept = { ...more, revision: ids.revision, savedAt: 900, text: configText };
  const now = { ...more, revision, usedAt: 1_000_050, text: configText };
  const placed = { ...now, place: 'file', file: '/etc/svc.json' } as const;
  return {
    inUse: () => placed,
    onDisk: async () => ({ ...more, revision, text: configText, why: null }),
    apply: async ({ text, revision: from }) => {
      calls.push(['apply', text, from]);
      if (from !== revision) {
        const detail = 'Another one is in use.';
        return { kind: 'refused', code: 'revision_conflict', detail, revision };
      }
      return { ...more, kind: 'applied', revision: 'r-0002', usedAt: 2, changes: [], warnings: [] };
    },
    history: async () => [
      { ...more, revision, savedAt: 1_000, bytes: 32, used: true },
      { ...more, revision: ids.revision, savedAt: 900, bytes: 32, used: false },
    ],
    kept: async (wanted) => (wanted === ids.revision ? kept : null),
  };
}
