/**
 * The stamps of rows from before there were stamps. The first configuration that is used with this
 * schema decides, once and for good: what was said on a channel that a public brain answers is
 * public, all else is private.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Sensitivity } from '../../../domain/sensitivity.ts';
import type { Write } from '../write/statements.ts';

/** What is public by the configuration of now. */
export type PublicNow = {
  /** The ledger's keys of the channels that a public brain answers. */
  readonly channels: readonly string[];
  /** The names of the public brains. */
  readonly brains: readonly string[];
};

export class Stamps {
  readonly #publicBefore: ReadonlySet<string>;

  constructor(publicBefore: Iterable<string>) {
    this.#publicBefore = new Set(publicBefore);
  }

  /** @param stamp as it stands in the row's column `private` */
  of(stamp: number | null, channel: string): Sensitivity {
    if (stamp === null) return this.#publicBefore.has(channel) ? 'public' : 'private';
    return stamp === 0 ? 'public' : 'private';
  }
}

export function stampOf(sensitivity: Sensitivity): number {
  return sensitivity === 'public' ? 0 : 1;
}

/**
 * @param now null: what is unstamped stays so, and counts as private meanwhile
 * @returns the stamps, and what is to be written down before a message is worked on
 */
export function openStamps(
  db: DatabaseSync,
  now: PublicNow | null,
): { readonly stamps: Stamps; readonly writes: readonly Write[] } {
  if (db.prepare('SELECT stamped FROM owner').get()?.['stamped'] === 1) {
    const rows = db.prepare('SELECT channel FROM public_before').all();
    return { stamps: new Stamps(rows.map(({ channel }) => String(channel))), writes: [] };
  }
  if (now === null) return { stamps: new Stamps([]), writes: [] };
  const writes: Write[] = now.channels.map((channel) => ['publicBefore', channel]);
  const brains = JSON.stringify(now.brains);
  const others = 'SELECT 1 FROM inbox WHERE brain NOT IN (SELECT value FROM json_each(?)) LIMIT 1';
  // Looking at every turn takes a while, and hardly a database needs it.
  if (db.prepare(others).get(brains) !== undefined) {
    writes.push(['turnsOfBrainsBefore', brains], ['inboxOfBrainsBefore', brains]);
  }
  writes.push(['notesOfBrainsBefore', brains], ['stampedBefore']);
  return { stamps: new Stamps(now.channels), writes };
}
