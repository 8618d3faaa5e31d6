/** What of the shared configuration is news to an instance. */
import type {
  ConfigsSeen,
  NamedInstance,
  OpenProposal,
  ProposalEnd,
} from '../../../cluster/shared-configs.ts';
import type { Ask } from '../read/ask.ts';
import { fromText } from '../server/text.ts';
import { newestNumber } from './texts.ts';
import { readEnd } from './rows.ts';

type InstanceRow = { readonly id: number; readonly version: string; readonly process: string };

/** @returns null: it is open */
export async function endOf(ask: Ask, proposal: number): Promise<ProposalEnd | null> {
  const [row] = await ask<{ outcome: string | null }>(
    'SELECT outcome FROM svc.proposal WHERE n = $1',
    proposal,
  );
  // So many came after it that it is kept no more.
  if (row === undefined) return { kind: 'closed', why: 'moved' };
  return row.outcome === null ? null : readEnd(fromText(row.outcome));
}

/** @param orphanMs after so long nobody decides it any more */
export async function openIn(ask: Ask, orphanMs: number): Promise<OpenProposal | null> {
  const [row] = await ask<InstanceRow & { n: number; base: number; orphan: boolean }>(
    'SELECT n, base, instance AS id, coalesce(version, $2) AS version, ' +
      'coalesce(process, $2) AS process, coalesce(dead, true) OR ' +
      "clock_timestamp() - at > $1 * interval '1 millisecond' AS orphan FROM svc.proposal " +
      'LEFT JOIN svc.instance ON id = instance WHERE outcome IS NULL',
    orphanMs,
    '',
  );
  if (row === undefined) return null;
  return { n: row.n, base: row.base, by: named(row), isOrphan: row.orphan };
}

export async function behindIn(
  ask: Ask,
  self: number,
): Promise<Pick<ConfigsSeen, 'current' | 'ageMs' | 'behind'>> {
  const current = (await newestNumber(ask)) ?? 0;
  const [age] = await ask<{ ms: number }>(
    'SELECT floor(extract(epoch FROM clock_timestamp() - at) * 1000)::bigint AS ms ' +
      'FROM svc.config WHERE n = $1',
    current,
  );
  const rows = await ask<InstanceRow>(
    'SELECT id, version, process FROM svc.instance ' +
      'WHERE NOT dead AND config < $1 AND id <> $2 ORDER BY id',
    current,
    self,
  );
  return { current, ageMs: age?.ms ?? 0, behind: rows.map(named) };
}

/** @param row with what its process told of itself */
export function named({ id, version, process }: InstanceRow): NamedInstance {
  return { id, version, host: hostIn(process) };
}

function hostIn(process: string): string {
  try {
    const { host } = JSON.parse(process) as { readonly host?: unknown };
    return typeof host === 'string' ? host : '';
  } catch {
    return '';
  }
}
