/**
 * Who was let in by a code, and who was given one that still counts.
 *
 * A stranger: unknown → asking (given a code, for an hour) → admitted, by the operator's word
 * alone; no code is ever taken from a chat. Whoever was given a code gets no other within the
 * hour, whatever became of it. Many strangers at once keep nobody else out for long: the oldest
 * code gives way to a new one, once it has had its ten minutes. What is kept is one cursor a
 * messenger, by its type and not by its bot: ids are the platform's, a new bot keeps its people,
 * and the cursor moves in the very commit that accepts the message which is answered with the code.
 */
import type { Admission, Admissions, Pairing, PairingRemoval } from '../domain/gate.ts';
import { messengerTypes } from '../channel/kinds.ts';
import type { ChannelKey } from '../domain/ids.ts';
import type { Sender } from '../domain/message.ts';
import type { CursorMove, Ledger } from '../store/store.ts';

const codeMs = 60 * 60_000;
/** So long a code is left alone; then it gives way when there are too many. */
const codeLeastMs = 10 * 60_000;
const codesMax = 100;
const admittedMax = 1_000;
/** At most so many are kept who were given a code within the hour, whatever became of it. */
const askingMax = 500;
const nameCharactersMax = 64;
const cursorName = 'pairing';

/** Without 0 and O, 1, I and L, 2 and Z, 5 and S, 8 and B. */
const alphabet = '34679ACDEFGHJKMNPQRTUVWXY';
const codeLength = 8;

type Admitted = { readonly sender: string; readonly name: string | null; readonly at: number };

/** `code` is null once it is used, taken back or gave way; its sender gets none before `until`. */
type PendingCode = {
  readonly sender: string;
  readonly name: string | null;
  readonly until: number;
  readonly code: string | null;
};

type PairingState = {
  readonly admitted: readonly Admitted[];
  readonly asking: readonly PendingCode[];
};

export type Knock =
  | { readonly kind: 'code'; readonly code: string; readonly move: CursorMove }
  | { readonly kind: 'turned_away'; readonly reason: 'code_pending' | 'codes_out' };

/** Fills the bytes with random ones that nobody can guess. */
export type FillRandom = (bytes: Uint8Array<ArrayBuffer>) => void;

export class Pairings implements Admissions {
  readonly #ledger: Pick<Ledger, 'accept' | 'cursor'>;
  readonly #now: () => number;
  readonly #random: FillRandom;
  readonly #states = new Map<string, PairingState>();

  /** @param now milliseconds since 1970 */
  constructor(ledger: Pick<Ledger, 'accept' | 'cursor'>, now: () => number, random: FillRandom) {
    this.#ledger = ledger;
    this.#now = now;
    this.#random = random;
  }

  /** Reads, once, what is kept of that messenger; to be called before `isAdmitted` and `knock`. */
  async load(type: string): Promise<void> {
    if (this.#states.has(type)) return;
    const state = await stateOf(this.#ledger, type);
    if (!this.#states.has(type)) this.#states.set(type, state);
  }

  isAdmitted(type: string, sender: string): boolean {
    return this.#of(type).admitted.some((one) => one.sender === sender);
  }

  /** A code for a stranger. `move` goes with the message that tells it; `withdraw` undoes it. */
  knock(type: string, { id: sender, name }: Sender): Knock {
    const state = this.#of(type);
    const now = this.#now();
    const asking = state.asking.filter(({ until }) => until > now).slice(1 - askingMax);
    if (asking.some((one) => one.sender === sender)) {
      return { kind: 'turned_away', reason: 'code_pending' };
    }
    const waiting = asking.filter((one) => one.code !== null);
    if (waiting.length >= codesMax) {
      const [oldest] = waiting;
      if (oldest!.until - codeMs + codeLeastMs > now) {
        return { kind: 'turned_away', reason: 'codes_out' };
      }
      asking[asking.indexOf(oldest!)] = silent(oldest!);
    }
    const code = this.#code();
    const short = name === null ? null : name.slice(0, nameCharactersMax).toWellFormed();
    asking.push({ sender, name: short, until: now + codeMs, code });
    return { kind: 'code', code, move: this.#become(type, { ...state, asking }) };
  }

  /** The message that was to be answered with a code was not accepted. */
  withdraw(type: string, code: string): void {
    const state = this.#of(type);
    const asking = state.asking.filter((one) => one.code !== code);
    this.#states.set(type, { ...state, asking });
  }

  async list(): Promise<readonly Pairing[]> {
    for (const channel of messengerTypes) await this.load(channel);
    return messengerTypes.flatMap((channel) => rowsOf(channel, this.#of(channel), this.#now()));
  }

  async admit(text: string): Promise<Admission> {
    const code = text.replace(/[\s-]/g, '').toUpperCase();
    for (const channel of messengerTypes) {
      await this.load(channel);
      const before = this.#of(channel);
      const asked = before.asking.find((one) => counts(one, this.#now()) && one.code === code);
      if (asked === undefined) continue;
      if (before.admitted.length >= admittedMax) return { kind: 'full' };
      const { sender, name } = asked;
      const one: Admitted = { sender, name, at: this.#now() };
      const admitted = [...before.admitted, one];
      const kept = await this.#keep(channel, { admitted, asking: silenced(before, sender) });
      if (!kept) return { kind: 'storage_failed' };
      return { kind: 'admitted', pairing: { channel, ...one, state: 'admitted' } };
    }
    return { kind: 'not_found' };
  }

  async remove(channel: string, sender: string): Promise<PairingRemoval> {
    if (!messengerTypes.some((type) => type === channel)) return 'not_found';
    await this.load(channel);
    const before = this.#of(channel);
    const admitted = before.admitted.filter((one) => one.sender !== sender);
    const asks = before.asking.some((one) => counts(one, this.#now()) && one.sender === sender);
    if (!asks && admitted.length === before.admitted.length) return 'not_found';
    const kept = await this.#keep(channel, { admitted, asking: silenced(before, sender) });
    return kept ? 'done' : 'storage_failed';
  }

  async #keep(type: string, state: PairingState): Promise<boolean> {
    const before = this.#of(type);
    const acceptance = await this.#ledger.accept([], this.#become(type, state));
    if (acceptance.kind === 'accepted') return true;
    this.#states.set(type, before);
    return false;
  }

  #become(type: string, state: PairingState): CursorMove {
    this.#states.set(type, state);
    return { channel: type as ChannelKey, name: cursorName, value: JSON.stringify(state) };
  }

  #of(type: string): PairingState {
    const state = this.#states.get(type);
    if (state === undefined) throw new Error(`the pairings of ${type} were not loaded`);
    return state;
  }

  /** Bytes past the last whole round of the alphabet are thrown away: codes are equally likely. */
  #code(): string {
    const fair = 256 - (256 % alphabet.length);
    const bytes = new Uint8Array(codeLength * 2);
    let code = '';
    while (code.length < codeLength) {
      this.#random(bytes);
      for (const byte of bytes) {
        if (byte < fair && code.length < codeLength) code += alphabet[byte % alphabet.length]!;
      }
    }
    return code;
  }
}

/**
 * The same list, read where somebody else keeps it.
 * @param now milliseconds since 1970
 */
export async function listPairings(
  ledger: Pick<Ledger, 'cursor'>,
  now: () => number,
): Promise<readonly Pairing[]> {
  const rows: Pairing[] = [];
  for (const channel of messengerTypes) {
    rows.push(...rowsOf(channel, await stateOf(ledger, channel), now()));
  }
  return rows;
}

async function stateOf(ledger: Pick<Ledger, 'cursor'>, type: string): Promise<PairingState> {
  const kept = await ledger.cursor(type as ChannelKey, cursorName);
  return kept === null ? { admitted: [], asking: [] } : (JSON.parse(kept) as PairingState);
}

function rowsOf(channel: string, { admitted, asking }: PairingState, now: number): Pairing[] {
  const waiting = asking.filter((one) => counts(one, now));
  return [
    ...admitted.map((one): Pairing => ({ channel, ...one, state: 'admitted' })),
    ...waiting.map(({ sender, name, until }): Pairing => {
      return { channel, sender, name, state: 'asking', at: until };
    }),
  ];
}

function counts({ code, until }: PendingCode, now: number): boolean {
  return code !== null && until > now;
}

function silenced({ asking }: PairingState, sender: string): readonly PendingCode[] {
  return asking.map((one) => (one.sender === sender ? silent(one) : one));
}

function silent(one: PendingCode): PendingCode {
  return { ...one, name: null, code: null };
}
