/** Figures of the program, from its metrics page and from the system. */
import { readdirSync, readlinkSync, statSync } from 'node:fs';
import type { Allowed } from './flatness.ts';

const mebibyte = 1_048_576;
type Figure = {
  readonly allowed: Allowed;
  /** With fewer messages the figure still grows, as after every start. */
  readonly from: number;
  readonly memory?: boolean;
};

/**
 * The figures that must be flat, with their bounds. The history cache grows up to a bound of its
 * own and has its own gauge: memory is judged without it.
 */
export const figures: Readonly<Record<string, Figure>> = {
  'resident MiB': { allowed: { growth: 12, share: 0.08 }, from: 500_000, memory: true },
  'heap MiB': { allowed: { growth: 6, share: 0.1 }, from: 20_000, memory: true },
  'open files': { allowed: { growth: 8, share: 0.05 }, from: 0 },
  // Most are idle connections in the pools to models and receivers: as many as were needed at once,
  // which a busy machine changes. A lost socket at each fiftieth message shows.
  sockets: { allowed: { growth: 32, share: 0.25 }, from: 10_000 },
  connections: { allowed: { growth: 2, share: 0.02 }, from: 0 },
  timers: { allowed: { growth: 2, share: 0 }, from: 0 },
  'rows in the ledger': { allowed: { growth: 2, share: 0 }, from: 0 },
  'conversations at work': { allowed: { growth: 2, share: 0 }, from: 0 },
  'held KiB': { allowed: { growth: 4, share: 0 }, from: 0 },
  'commits pending': { allowed: { growth: 2, share: 0 }, from: 0 },
};

export type Sample = Readonly<Record<string, number>>;

/** @param adminUrl the address of the metrics page */
export async function sampleOf(adminUrl: string, pid: number): Promise<Sample> {
  const page = await (await fetch(`${adminUrl}/metrics`)).text();
  const sum = (name: string, labels = ''): number => {
    let all = 0;
    for (const [, having = '', value] of page.matchAll(
      new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, 'gm'),
    )) {
      if (having.includes(labels)) all += Number(value);
    }
    return all;
  };
  const remembered = sum('svc_remembered_bytes');
  return {
    'resident MiB': (sum('svc_process_resident_memory_bytes') - remembered) / mebibyte,
    'heap MiB': (sum('svc_nodejs_heap_size_used_bytes') - remembered) / mebibyte,
    ...openFilesOf(pid),
    connections: sum('svc_connections'),
    timers: sum('svc_nodejs_active_resources', 'Timeout'),
    'rows in the ledger': sum('svc_rows'),
    'conversations at work': sum('svc_conversations_at_work'),
    'held KiB': sum('svc_held_bytes') / 1_024,
    'commits pending': sum('svc_commits_pending'),
  };
}

function openFilesOf(pid: number): Sample {
  const folder = `/proc/${pid}/fd`;
  const files = readdirSync(folder).map((name) => targetOf(`${folder}/${name}`));
  const sockets = files.filter((file) => file?.startsWith('socket:')).length;
  return { 'open files': files.length - sockets, sockets };
}

/** Null: it was closed meanwhile. */
function targetOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}

export function mebibytesOf(file: string): number {
  return Math.round(statSync(file).size / mebibyte);
}
