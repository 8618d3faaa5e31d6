/**
 * What is kept of one messenger's pairings: a cursor in the ledger, and in memory what that cursor
 * will hold once all that was asked for is written.
 *
 * Others may move the cursor as well. So each move says what it expects there, and the ledger
 * refuses it where somebody was quicker. What is in memory is doubted from then on, and is read
 * again before its next use: known → doubted → known.
 */
import type { ChannelKey } from '../../domain/ids.ts';
import type { CursorMove, Ledger } from '../../ledger/ledger.ts';

const cursorName = 'pairing';

export type Admitted = {
  readonly sender: string;
  readonly name: string | null;
  readonly at: number;
};

/** `code` is null once it is used, taken back or gave way; its sender gets none before `until`. */
export type PendingCode = {
  readonly sender: string;
  readonly name: string | null;
  readonly until: number;
  readonly code: string | null;
};

export type PairingState = {
  readonly admitted: readonly Admitted[];
  readonly asking: readonly PendingCode[];
  /** Who was admitted and is to be told so; absent: nobody. */
  readonly unwelcomed?: readonly string[];
};

/** The move of a cursor that is kept in memory as well: it always says what it expects. */
export type ExpectingMove = Required<CursorMove>;

/** A change that is in memory already. */
export type Change = {
  readonly move: ExpectingMove;
  /** To be called when the ledger refused the move. Of several, the last one goes first. */
  readonly undo: () => void;
};

export class KeptPairings {
  readonly #ledger: Pick<Ledger, 'cursor'>;
  readonly #type: string;
  #state: PairingState | null = null;
  /** Where the cursor stands once all that was asked for is written, by what is known here. */
  #expected: string | null = null;
  #doubted = false;
  /** Counts what was changed here, and each doubt. */
  #changes = 0;
  #reading: Promise<boolean> | null = null;

  constructor(ledger: Pick<Ledger, 'cursor'>, type: string) {
    this.#ledger = ledger;
    this.#type = type;
  }

  get state(): PairingState {
    if (this.#state === null) throw new Error(`the pairings of ${this.#type} were not loaded`);
    return this.#state;
  }

  /** Reads it, unless it is known. Rejects where it was never read, and cannot be. */
  async load(): Promise<void> {
    if (this.#state === null) await this.#read();
    if (this.#doubted) await this.readAgain();
  }

  /** What is in memory, or is being read, may be outdated. */
  doubt(): void {
    this.#doubted = true;
    this.#changes++;
  }

  /**
   * Reads it, whatever is known. Those who ask at the same time share one reading.
   * @returns false where what is in memory may be outdated: it cannot be read, or was changed here
   *   meanwhile, so that what was read may be older
   */
  readAgain(): Promise<boolean> {
    return this.#read().catch(() => false);
  }

  /**
   * The state that comes after this one, in memory at once.
   * @param without takes this change, and no other, out of a state
   */
  become(state: PairingState, without: (state: PairingState) => PairingState): Change {
    const [before, expected] = [this.state, this.#expected];
    const value = JSON.stringify(state);
    this.#set(state, value);
    const undo = (): void => {
      const now = this.state;
      const isLast = this.#expected === value;
      this.#set(now === state ? before : without(now), isLast ? expected : this.#expected);
      this.doubt();
    };
    return {
      move: { channel: this.#type as ChannelKey, name: cursorName, value, expected },
      undo,
    };
  }

  #set(state: PairingState, expected: string | null): void {
    this.#state = state;
    this.#expected = expected;
    this.#changes++;
  }

  #read(): Promise<boolean> {
    this.#reading ??= this.#readNow().finally(() => (this.#reading = null));
    return this.#reading;
  }

  async #readNow(): Promise<boolean> {
    const changes = this.#changes;
    const kept = await readCursor(this.#ledger, this.#type);
    if (this.#changes !== changes) {
      // At the first reading it is better than nothing, and stays in doubt.
      if (this.#state === null) this.#set(stateOf(kept), kept);
      return false;
    }
    const isKnown = this.#state !== null && !this.#doubted && kept === this.#expected;
    if (!isKnown) this.#set(stateOf(kept), kept);
    this.#doubted = false;
    return true;
  }
}

/** The same, where somebody else keeps it. */
export async function readPairings(
  ledger: Pick<Ledger, 'cursor'>,
  type: string,
): Promise<PairingState> {
  return stateOf(await readCursor(ledger, type));
}

function readCursor(ledger: Pick<Ledger, 'cursor'>, type: string): Promise<string | null> {
  return ledger.cursor(type as ChannelKey, cursorName);
}

function stateOf(kept: string | null): PairingState {
  return kept === null ? { admitted: [], asking: [] } : (JSON.parse(kept) as PairingState);
}
