import type { Box } from '../domain/event.ts';
import type { Failure } from '../domain/failure.ts';
import type { ChannelKey } from '../domain/ids.ts';

/**
 * Unless it is `ok`, nothing is accepted. `low`: less is free than there must be; what was accepted
 * is worked on. `full`: a commit found no room; what is finished waits, and is tried every second.
 * `locked`: another program writes the database file, and is waited for in the same way.
 * `away`: the database server does not answer; what is finished waits for it.
 */
export type StorageRoom =
  | { readonly kind: 'ok' }
  | { readonly kind: 'full' }
  /** `holder`: the process of that program; null: not known. */
  | { readonly kind: 'locked'; readonly holder: number | null }
  | { readonly kind: 'away' }
  | { readonly kind: 'low'; readonly freeBytes: number; readonly freeBytesMin: number };

/** What a ledger tells of itself, at any time; whoever listens returns at once. */
export type LedgerNews = {
  /** Rows of a channel that is not served wait; at `untilAt` they become dead letters. */
  readonly unroutable?: (e: {
    readonly channel: ChannelKey;
    readonly rows: number;
    readonly since: number;
    readonly untilAt: number;
  }) => void;
  /** Whether there is room on the disk, each time that this changes. */
  readonly storageRoom?: (room: StorageRoom) => void;
  /** A database of an older svc is brought up to date before it is used; it may take minutes. */
  readonly storageUpgrading?: (e: { readonly from: number; readonly to: number }) => void;
  /** Another process had the storage, and may be alive: it is waited for, so long at most. */
  readonly storageWaits?: (e: { readonly ms: number }) => void;
  /**
   * The clock that svc goes by was ahead when the next tries of so many replies were planned. They
   * lay up to `aheadMs` further ahead than their schedule allows, and are sooner now.
   */
  readonly clockWasAhead?: (e: { readonly replies: number; readonly aheadMs: number }) => void;
  /** A dead letter that no claim made. */
  readonly buried?: (e: {
    readonly box: Box;
    readonly channel: ChannelKey;
    readonly id: string;
    readonly failure: Failure;
  }) => void;
  /** A hold has ended by itself: the conversation's brain goes on. */
  readonly holdOver?: (e: { readonly channel: ChannelKey }) => void;
  /** A bug, by which nothing more is lost than what it was in; the ledger goes on. */
  readonly faulted?: (error: unknown) => void;
};
