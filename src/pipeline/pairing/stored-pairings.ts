/**
 * The pairings of one messenger: a cursor in the ledger, and a copy in memory. The copy holds the
 * cursor's value as it will be after all requested writes.
 *
 * Others may move the cursor as well. So each move names the value that it expects, and the ledger
 * refuses the move if somebody was quicker. After that the copy may be stale, and is read again
 * before its next use: known → stale → known.
 */
import type { ChannelKey } from '../../domain/ids.ts';
import type { CursorMove, Ledger } from '../../ledger/ledger.ts';

const cursorName = 'pairing';

export type Admitted = {
  readonly sender: string;
  readonly name: string | null;
  readonly at: number;
};

/**
 * `code` is null once it is used, taken back or displaced; its sender gets no new one before
 * `until`.
 */
export type PendingCode = {
  readonly sender: string;
  readonly name: string | null;
  readonly until: number;
  readonly code: string | null;
};

export type PairingState = {
  readonly admitted: readonly Admitted[];
  readonly asking: readonly PendingCode[];
  /** Admitted people who have not been told yet; absent: nobody. */
  readonly unwelcomed?: readonly string[];
};

/** The move of a cursor that is also kept in memory: it always names the expected value. */
export type ExpectingMove = Required<CursorMove>;

/** A change that is already made in memory. */
export type Change = {
  readonly move: ExpectingMove;
  /** Call it when the ledger refused the move. Of several changes, undo the last one first. */
  readonly undo: () => void;
};

export class StoredPairings {
  readonly #ledger: Pick<Ledger, 'cursor'>;
  /** The registered name of the messenger. */
  readonly #channel: string;
  #state: PairingState | null = null;
  /** The cursor's value after all requested writes, as far as this process knows. */
  #expected: string | null = null;
  #isStale = false;
  /** Counts the changes made here, and each call of `doubt`. */
  #changes = 0;
  #reading: Promise<boolean> | null = null;

  constructor(ledger: Pick<Ledger, 'cursor'>, channel: string) {
    this.#ledger = ledger;
    this.#channel = channel;
  }

  get state(): PairingState {
    if (this.#state === null) throw new Error(`the pairings of ${this.#channel} were not loaded`);
    return this.#state;
  }

  /**
   * Reads the pairings unless they are known. Rejects if they were never read and cannot be read.
   */
  async load(): Promise<void> {
    if (this.#state === null) await this.#read();
    if (this.#isStale) await this.readAgain();
  }

  /** The copy in memory, or the one being read, may be stale. */
  invalidate(): void {
    this.#isStale = true;
    this.#changes++;
  }

  /**
   * Reads the pairings again. Simultaneous callers share one read.
   * @returns false: the copy in memory may be stale, because the read failed, or because a change
   *   here during the read may be newer
   */
  readAgain(): Promise<boolean> {
    return this.#read().catch(() => false);
  }

  /**
   * Replaces the state, in memory at once.
   * @param without removes this change, and no other, from a state
   */
  replaceState(state: PairingState, without: (state: PairingState) => PairingState): Change {
    const before = this.state;
    const expected = this.#expected;
    const value = JSON.stringify(state);
    this.#set(state, value);
    const undo = (): void => {
      const now = this.state;
      const isLast = this.#expected === value;
      this.#set(now === state ? before : without(now), isLast ? expected : this.#expected);
      this.invalidate();
    };
    return {
      move: { channel: this.#channel as ChannelKey, name: cursorName, value, expected },
      undo,
    };
  }

  #set(state: PairingState, expected: string | null): void {
    this.#state = state;
    this.#expected = expected;
    this.#changes++;
  }

  #read(): Promise<boolean> {
    this.#reading ??= this.#readCursor().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readCursor(): Promise<boolean> {
    const changes = this.#changes;
    const stored = await readCursor(this.#ledger, this.#channel);
    if (this.#changes !== changes) {
      // For a first read this is better than nothing, and stays marked as stale.
      if (this.#state === null) this.#set(stateOf(stored), stored);
      return false;
    }
    const isKnown = this.#state !== null && !this.#isStale && stored === this.#expected;
    if (!isKnown) this.#set(stateOf(stored), stored);
    this.#isStale = false;
    return true;
  }
}

/** Reads the pairings that another process keeps in memory. */
export async function readPairings(
  ledger: Pick<Ledger, 'cursor'>,
  channel: string,
): Promise<PairingState> {
  return stateOf(await readCursor(ledger, channel));
}

function readCursor(ledger: Pick<Ledger, 'cursor'>, channel: string): Promise<string | null> {
  return ledger.cursor(channel as ChannelKey, cursorName);
}

function stateOf(stored: string | null): PairingState {
  return stored === null ? { admitted: [], asking: [] } : (JSON.parse(stored) as PairingState);
}
