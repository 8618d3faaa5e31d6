/**
 * The replies that wait for their next attempt, by channel and by the reason why the last attempt
 * failed.
 */
import type { FailureKind } from '../../domain/failure.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { isOnChannel, type DeferredFilter, type DeferredGroup } from '../../domain/records.ts';
import type { OutRow } from './queue.ts';

/** At most this many replies of a group are examined, those that failed first. */
const examinedMax = 10_000;

type Group = Pick<DeferredGroup, 'channel' | 'failure' | 'status'> & {
  /** In the order in which their last attempts failed. */
  readonly rows: Map<string, OutRow>;
};

export class DeferredRows {
  readonly #groups = new Map<string, Group>();
  /** How many replies wait. */
  size = 0;

  add(row: OutRow): void {
    const key = keyOf(row);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const { kind, status } = reasonOf(row);
      group = { channel: row.queue.channel, failure: kind, status, rows: new Map() };
      this.#groups.set(key, group);
    }
    group.rows.set(row.head.id, row);
    this.size++;
  }

  delete(row: OutRow): void {
    const key = keyOf(row);
    const group = this.#groups.get(key);
    if (group?.rows.delete(row.head.id) !== true) return;
    this.size--;
    if (group.rows.size === 0) this.#groups.delete(key);
  }

  find(id: string): OutRow | null {
    for (const { rows } of this.#groups.values()) {
      const row = rows.get(id);
      if (row !== undefined) return row;
    }
    return null;
  }

  /** The channels of the waiting replies. */
  get channels(): ReadonlySet<ChannelKey> {
    return new Set(this.#groups.values().map(({ channel }) => channel));
  }

  groups(): DeferredGroup[] {
    return Array.from(this.#groups.values(), ({ rows, ...group }) => {
      let [oldestAt, nextAt] = [Infinity, Infinity];
      for (const { head, dueAt } of rows.values().take(examinedMax)) {
        oldestAt = Math.min(oldestAt, head.createdAt);
        nextAt = Math.min(nextAt, dueAt);
      }
      return { ...group, count: rows.size, oldestAt, nextAt };
    });
  }

  /** Up to `most` replies that match the filter and were last handed out before that time. */
  matching(filter: DeferredFilter, before: number, most: number): OutRow[] {
    const matches: OutRow[] = [];
    for (const { rows, ...group } of this.#groups.values()) {
      if (!fitsGroup(filter, group)) continue;
      for (const row of rows.values().take(examinedMax)) {
        if (matches.length >= most) return matches;
        if (row.takenAt < before) matches.push(row);
      }
    }
    return matches;
  }
}

function fitsGroup(
  { channel, failure, status }: DeferredFilter,
  group: Pick<DeferredGroup, 'channel' | 'failure' | 'status'>,
): boolean {
  return (
    isOnChannel(group.channel, channel) &&
    (failure === null || group.failure === failure) &&
    (status === null || group.status === status)
  );
}

/** A reply without a known reason counts as cancelled. */
function reasonOf({ why }: OutRow): { readonly kind: FailureKind; readonly status: number | null } {
  return why ?? { kind: 'cancelled', status: null };
}

function keyOf(row: OutRow): string {
  const { kind, status } = reasonOf(row);
  return `${row.queue.channel} ${kind} ${status}`;
}
