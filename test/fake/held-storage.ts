/** A storage whose commits wait for the test, or fail. */
import type { Acceptance } from '../../src/channels/channel.ts';
import { conflict } from '../../src/ledger/engine/cursors.ts';
import { refused } from '../../src/ledger/engine/engine.ts';
import type { LedgerStorage, StorageReport } from '../../src/ledger/engine/storage.ts';
import { memoryLimits, MemoryStorage, type MemoryLimits } from '../../src/ledger/memory/memory.ts';
import { StoryRing } from '../../src/ledger/memory/story-ring.ts';

type Held = { readonly commit: () => void; readonly fail: () => void };
type Asked<Name extends 'accept' | 'turnEnded' | 'deferred' | 'buried' | 'callBegun' | 'audit'> =
  Parameters<LedgerStorage[Name]>;

export class HeldStorage extends MemoryStorage {
  readonly #held: Held[] = [];
  #told: StorageReport | null = null;
  #failed = false;
  #closed = false;
  readonly #onHeld: (storage: HeldStorage) => void;

  /** @param onHeld called for each write that waits for its commit */
  constructor(
    limits: Partial<MemoryLimits> = {},
    onHeld: (storage: HeldStorage) => void = () => {},
  ) {
    super({ ...memoryLimits, ...limits }, new StoryRing());
    this.#onHeld = onHeld;
  }

  /** Commits all waiting writes, in order. */
  commit(): void {
    for (const held of this.#held.splice(0)) held.commit();
  }

  /** Refuses all waiting writes: there is no room just now. */
  refuse(): void {
    for (const held of this.#held.splice(0)) held.fail();
  }

  /** Fails all waiting writes, and all later ones. */
  fail(error: unknown): void {
    this.#failed = true;
    this.#told?.failed(error);
    this.refuse();
  }

  /** The ledger's receiver of the storage's reports. */
  get told(): StorageReport {
    return this.#told!;
  }

  override gauges() {
    return { tracesDropped: 0, commitsPending: this.#held.length };
  }

  override listen(told?: StorageReport): void {
    this.#told = told ?? null;
  }

  override accept(...asked: Asked<'accept'>): Promise<Acceptance> {
    const [, moves] = asked;
    if (!this.cursors.move(moves)) return Promise.resolve(conflict);
    const commit = async (): Promise<Acceptance> => this.commitAccepted(...asked);
    const undo = (): void => this.cursors.refused(moves);
    return this.#hold(commit, refused('storage_failed', 1_000), undo);
  }

  override turnEnded(...asked: Asked<'turnEnded'>): Promise<boolean> {
    return this.#hold(() => super.turnEnded(...asked), false);
  }

  override delivered(...asked: Parameters<LedgerStorage['delivered']>): Promise<boolean> {
    return this.#hold(() => super.delivered(...asked), false);
  }

  override deferred(...asked: Asked<'deferred'>): Promise<boolean> {
    return this.#hold(() => super.deferred(...asked), false);
  }

  override triedNow(...asked: Parameters<LedgerStorage['triedNow']>): Promise<boolean> {
    return this.#hold(() => super.triedNow(...asked), false);
  }

  override buried(...asked: Asked<'buried'>): Promise<boolean> {
    return this.#hold(() => super.buried(...asked), false);
  }

  override callBegun(...asked: Asked<'callBegun'>): Promise<boolean> {
    return this.#hold(() => super.callBegun(...asked), false);
  }

  override audit(...asked: Asked<'audit'>): Promise<boolean> {
    return this.#hold(() => super.audit(...asked), false);
  }

  override written(): Promise<boolean> {
    return this.#hold(() => super.written(), false);
  }

  override async close(): Promise<void> {
    this.#closed = true;
    this.commit();
  }

  #hold<T>(commit: () => Promise<T>, failed: T, undo = (): void => {}): Promise<T> {
    if (this.#failed || this.#closed) {
      undo();
      return Promise.resolve(failed);
    }
    return new Promise((resolve) => {
      this.#held.push({
        commit: () => void commit().then(resolve),
        fail: () => {
          undo();
          resolve(failed);
        },
      });
      this.#onHeld(this);
    });
  }
}
