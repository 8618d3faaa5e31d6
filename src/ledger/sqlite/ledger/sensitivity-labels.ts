/**
 * The sensitivity labels of stored rows. Rows from before labels existed get theirs once, by the
 * first configuration used with this schema. Then texts on a channel that a public brain answers
 * are public, and all others are private.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { Write } from '../write/statements.ts';

/** The public part of a configuration. */
export type PublicNow = {
  /** The ledger's keys of the channels that a public brain answers. */
  readonly channels: readonly string[];
  /** The names of the public brains. */
  readonly brains: readonly string[];
};

export class Labels {
  readonly #publicBefore: ReadonlySet<string>;

  constructor(publicBefore: Iterable<string>) {
    this.#publicBefore = new Set(publicBefore);
  }

  /** @param label the value of the row's column `private` */
  of(label: number | null, channel: string): Sensitivity {
    if (label === null) return this.#publicBefore.has(channel) ? 'public' : 'private';
    return label === 0 ? 'public' : 'private';
  }
}

export function labelOf(sensitivity: Sensitivity): number {
  return sensitivity === 'public' ? 0 : 1;
}

/**
 * Decides the labels for the database at that path, or reads the earlier decision. The decision is
 * in a file beside the database. So a restored older backup gets the labels of the first
 * configuration, even under another one.
 * @param now null: decide nothing
 */
export function decideOnce(path: string, now: PublicNow | null): PublicNow | null {
  if (now === null) return null;
  const file = `${path}.stamps`;
  if (!existsSync(file)) putWhole(file, JSON.stringify(now));
  return parseDecision(readFileSync(file, 'utf8'));
}

/** Writes a file so that a power cut leaves the whole file or none. */
function putWhole(file: string, text: string): void {
  const draft = `${file}.new`;
  const open = openSync(draft, 'w', 0o600);
  try {
    writeSync(open, text);
    fsyncSync(open);
  } finally {
    closeSync(open);
  }
  renameSync(draft, file);
}

/** Reads the decision. An unreadable file leaves nothing public. */
function parseDecision(text: string): PublicNow {
  try {
    const { channels, brains } = JSON.parse(text) as Partial<Record<keyof PublicNow, unknown>>;
    if (Array.isArray(channels) && Array.isArray(brains)) {
      return { channels: channels.map(String), brains: brains.map(String) };
    }
  } catch {
    // An unreadable file leaves nothing public.
  }
  return { channels: [], brains: [] };
}

/**
 * @param now null: unlabelled rows stay so, and count as private meanwhile
 * @returns the labels, and the writes to commit before work on any message
 */
export function openLabels(
  db: DatabaseSync,
  now: PublicNow | null,
): { readonly labels: Labels; readonly writes: readonly Write[] } {
  if (db.prepare('SELECT stamped FROM owner').get()?.['stamped'] === 1) {
    const rows = db.prepare('SELECT channel FROM public_before').all();
    return { labels: new Labels(rows.map(({ channel }) => String(channel))), writes: [] };
  }
  if (now === null) return { labels: new Labels([]), writes: [] };
  const writes: Write[] = now.channels.map((channel) => ['publicBefore', channel]);
  const brains = JSON.stringify(now.brains);
  const otherBrains =
    'SELECT 1 FROM inbox WHERE brain NOT IN (SELECT value FROM json_each(?)) LIMIT 1';
  // Updating every turn is slow, and hardly any database needs it.
  if (db.prepare(otherBrains).get(brains) !== undefined) {
    writes.push(['turnsOfBrainsBefore', brains], ['inboxOfBrainsBefore', brains]);
    writes.push(['notesOfTurnsBefore'], ['quotedBefore']);
  }
  writes.push(['notesOfBrainsBefore', brains], ['labelledBefore']);
  return { labels: new Labels(now.channels), writes };
}
