/**
 * The people who were admitted by a code, and the strangers who hold a valid code.
 *
 * A stranger: unknown → asking (has a code, for an hour) → admitted, by the operator alone. svc
 * takes no code from a chat. Nobody gets a second code within the hour, whatever happened to the
 * first. Many strangers at once block nobody for long: a new code displaces the oldest one, once
 * that one is ten minutes old.
 *
 * One cursor for each registered name of a messenger holds its pairings. Ids belong to the platform,
 * so another bot under the same name keeps its people. The cursor moves in the commit that accepts
 * the message which svc answers with the code.
 */
import { hourMs } from '../../lib/durations.ts';
import type { Admission, Admissions, Pairing, PairingRemoval } from '../../domain/gate.ts';
import type { Receipt } from '../../channels/channel.ts';
import { messengerTypes } from '../../channels/registry.ts';
import type { Inbound, Sender } from '../../domain/message.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import {
  StoredPairings,
  readPairings,
  type Admitted,
  type Change,
  type PairingState,
  type PendingCode,
} from './stored-pairings.ts';

/** A code is safe for so long; then a new one may displace it when there are too many. */
const codeLeastMs = 10 * 60_000;
const codesMax = 100;
const admittedMax = 1_000;
/** At most so many people are remembered who got a code within the hour. */
const askingMax = 500;
const nameCharactersMax = 64;
/** How often a change is tried while others move the same cursor. */
const triesMax = 8;

/** Without 0 and O, 1, I and L, 2 and Z, 5 and S, 8 and B. */
const alphabet = '34679ACDEFGHJKMNPQRTUVWXY';
const codeLength = 8;

/** `undo` is for a code whose message was not accepted: nobody got the code. */
export type PairingRequest =
  | ({ readonly kind: 'code'; readonly code: string } & Change)
  | { readonly kind: 'turned_away'; readonly reason: 'code_pending' | 'codes_out' };

/**
 * An operator's decision on the stored pairings. `change` null: they stay as they are. `told` is a
 * message that goes into the ledger in the same commit.
 */
type Decision<Answer> = {
  readonly answer: Answer;
  readonly change: (() => Change) | null;
  readonly told?: Notice;
};

/** svc's own message; `accepted` is called once the ledger has it. */
export type Notice = { readonly message: Inbound; readonly accepted: (receipt: Receipt) => void };

/** An admitted person of that channel who has not been told yet. */
export type Unwelcomed = Admitted & { readonly channel: string };

/** Fills the bytes with random values that nobody can guess. */
export type FillRandom = (bytes: Uint8Array<ArrayBuffer>) => void;

export class Pairings implements Admissions {
  readonly #ledger: Pick<Ledger, 'accept' | 'cursor'>;
  readonly #now: () => number;
  readonly #random: FillRandom;
  readonly #changed: (channel: string) => Promise<void>;
  readonly #stored = new Map<string, StoredPairings>();
  /** The channels with people who may be listed, let in and removed. */
  #channels: readonly string[] = messengerTypes;
  /** Called when somebody was admitted here. */
  onAdmitted: (() => void) | null = null;

  /**
   * @param now milliseconds since 1970
   * @param changed tells all processes that keep the pairings of that channel in memory to read them
   *   again
   */
  constructor(
    ledger: Pick<Ledger, 'accept' | 'cursor'>,
    now: () => number,
    random: FillRandom,
    changed: (channel: string) => Promise<void> = async () => {},
  ) {
    this.#changed = changed;
    this.#ledger = ledger;
    this.#now = now;
    this.#random = random;
  }

  /** @param names the registered names of the configured messengers */
  use(names: Iterable<string>): void {
    this.#channels = withUnnamed(names);
  }

  /** Reads the stored pairings of a messenger. Call it before `isAdmitted` and `pairingRequest`. */
  load(channel: string): Promise<void> {
    return this.#of(channel).load();
  }

  /** Somebody changed the pairings: they are read again before their next use. */
  doubt(channel: string): void {
    this.#stored.get(channel)?.invalidate();
  }

  isAdmitted(channel: string, sender: string): boolean {
    return this.#of(channel).state.admitted.some((one) => one.sender === sender);
  }

  /** A code for a stranger. Its `move` must be committed with the message that tells the code. */
  pairingRequest(channel: string, { id: sender, name }: Sender): PairingRequest {
    const stored = this.#of(channel);
    const now = this.#now();
    const asking = stored.state.asking.filter((one) => isRecent(one, now)).slice(1 - askingMax);
    if (asking.some((one) => one.sender === sender)) {
      return { kind: 'turned_away', reason: 'code_pending' };
    }
    const waiting = asking.filter((one) => one.code !== null);
    if (waiting.length >= codesMax) {
      const [oldest] = waiting;
      if (oldest!.until - codeMs + codeLeastMs > now) {
        return { kind: 'turned_away', reason: 'codes_out' };
      }
      asking[asking.indexOf(oldest!)] = withoutCode(oldest!);
    }
    const code = this.#code();
    const shortName = name === null ? null : name.slice(0, nameCharactersMax).toWellFormed();
    asking.push({ sender, name: shortName, until: now + codeMs, code });
    const change = stored.replaceState({ ...stored.state, asking }, (state) => {
      return { ...state, asking: state.asking.filter((one) => one.code !== code) };
    });
    return { kind: 'code', code, ...change };
  }

  async list(): Promise<readonly Pairing[]> {
    const rows: Pairing[] = [];
    for (const channel of this.#channels) {
      const stored = this.#of(channel);
      if (!(await stored.readAgain())) await stored.load();
      rows.push(...rowsOf(channel, stored.state, this.#now()));
    }
    return rows;
  }

  async admit(text: string): Promise<Admission> {
    const code = text.replace(/[\s-]/g, '').toUpperCase();
    const pairings = this.#channels.map((channel) => [channel, this.#of(channel)] as const);
    const all = pairings.map(([, stored]) => stored);
    const admission = await this.#change(all, (): Decision<Admission> => {
      for (const [channel, stored] of pairings) {
        const { state } = stored;
        const request = state.asking.find(
          (one) => isValidCode(one, this.#now()) && one.code === code,
        );
        if (request === undefined) continue;
        if (state.admitted.length >= admittedMax) return { answer: { kind: 'full' }, change: null };
        const { sender, name } = request;
        const one: Admitted = { sender, name, at: this.#now() };
        const answer = {
          kind: 'admitted',
          pairing: { channel, ...one, state: 'admitted' },
        } as const;
        return { answer, change: () => admitChange(stored, one) };
      }
      return { answer: { kind: 'not_found' }, change: null };
    });
    if (admission?.kind === 'admitted') this.onAdmitted?.();
    return admission ?? { kind: 'storage_failed' };
  }

  /** The admitted people who have not been told yet, as far as this process knows. */
  async unwelcomed(channel: string): Promise<readonly Unwelcomed[]> {
    const stored = this.#of(channel);
    await stored.load();
    const { admitted, unwelcomed = [] } = stored.state;
    return admitted
      .filter(({ sender }) => unwelcomed.includes(sender))
      .map((one) => ({ channel, ...one }));
  }

  /**
   * Tells an admitted person once: one commit holds the message and removes the person from the
   * list.
   * @param told null: the person cannot be told
   */
  async welcome({ channel, sender }: Unwelcomed, told: Notice | null): Promise<void> {
    const stored = this.#of(channel);
    await this.#change([stored], (): Decision<null> => {
      const isOwed = stored.state.unwelcomed?.includes(sender) === true;
      if (!isOwed) return { answer: null, change: null };
      const change = (): Change => welcomeChange(stored, sender);
      return { answer: null, change, ...(told !== null && { told }) };
    });
  }

  async remove(channel: string, sender: string): Promise<PairingRemoval> {
    if (!this.#channels.includes(channel)) return 'not_found';
    const stored = this.#of(channel);
    const removal = await this.#change([stored], (): Decision<PairingRemoval> => {
      const { admitted, asking } = stored.state;
      const hasCode = asking.some((one) => isValidCode(one, this.#now()) && one.sender === sender);
      const isKnown = hasCode || admitted.some((one) => one.sender === sender);
      if (!isKnown) return { answer: 'not_found', change: null };
      return { answer: 'done', change: () => removeChange(stored, sender) };
    });
    return removal ?? 'storage_failed';
  }

  /**
   * Decides on the current pairings. If others change them meanwhile, it reads and decides again.
   * @returns null: the change was not written
   */
  async #change<Answer>(
    pairings: readonly StoredPairings[],
    decide: () => Decision<Answer>,
  ): Promise<Answer | null> {
    for (let tries = 0; tries < triesMax; tries++) {
      // All other waiting work runs first, also the work of the one who was quicker.
      if (tries > 0) await new Promise(setImmediate);
      const read = await Promise.all(pairings.map((stored) => stored.readAgain()));
      if (read.includes(false)) continue;
      const { answer, change, told } = decide();
      if (change === null) return answer;
      const { move, undo } = change();
      const batch = told === undefined ? [] : [told.message];
      const acceptance = await this.#ledger.accept(batch, move);
      if (acceptance.kind === 'accepted') {
        acceptance.receipts.forEach((receipt) => told?.accepted(receipt));
        await this.#changed(move.channel);
        return answer;
      }
      undo();
      if (acceptance.reason !== 'conflict') return null;
    }
    return null;
  }

  #of(channel: string): StoredPairings {
    const stored = this.#stored.get(channel) ?? new StoredPairings(this.#ledger, channel);
    this.#stored.set(channel, stored);
    return stored;
  }

  /**
   * Bytes past the last whole round of the alphabet are dropped, so all codes are equally likely.
   */
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

/** A messenger that has left the configuration may still have people under its type. */
function withUnnamed(names: Iterable<string>): readonly string[] {
  return [...new Set<string>([...messengerTypes, ...names])];
}

/**
 * The same list, read from the ledger when another process keeps the pairings.
 * @param names the registered names of the configured messengers
 * @param now milliseconds since 1970
 */
export async function listPairings(
  ledger: Pick<Ledger, 'cursor'>,
  names: Iterable<string>,
  now: () => number,
): Promise<readonly Pairing[]> {
  const rows: Pairing[] = [];
  for (const channel of withUnnamed(names)) {
    rows.push(...rowsOf(channel, await readPairings(ledger, channel), now()));
  }
  return rows;
}

/** The changes that an operator's decisions make to the pairings. */
function admitChange(stored: StoredPairings, one: Admitted): Change {
  const { admitted, asking, unwelcomed = [] } = stored.state;
  const state = {
    admitted: [...admitted, one],
    asking: withoutCodeOf(asking, one.sender),
    unwelcomed: [...unwelcomed, one.sender],
  };
  return stored.replaceState(state, (later) => {
    const others = later.admitted.filter((other) => other !== one);
    return { ...withoutUnwelcomed(later, one.sender), admitted: others };
  });
}

function welcomeChange(stored: StoredPairings, sender: string): Change {
  return stored.replaceState(withoutUnwelcomed(stored.state, sender), (later) => {
    return { ...later, unwelcomed: [...(later.unwelcomed ?? []), sender] };
  });
}

/** Without the field when nobody is left to be told. */
function withoutUnwelcomed(
  { unwelcomed = [], ...state }: PairingState,
  sender: string,
): PairingState {
  const remaining = unwelcomed.filter((one) => one !== sender);
  return remaining.length === 0 ? state : { ...state, unwelcomed: remaining };
}

function removeChange(stored: StoredPairings, sender: string): Change {
  const { admitted, asking } = stored.state;
  const removed = admitted.filter((one) => one.sender === sender);
  const remaining = admitted.filter((one) => one.sender !== sender);
  const state = { admitted: remaining, asking: withoutCodeOf(asking, sender) };
  return stored.replaceState({ ...withoutUnwelcomed(stored.state, sender), ...state }, (later) => {
    return { ...later, admitted: [...removed, ...later.admitted] };
  });
}

function rowsOf(channel: string, { admitted, asking }: PairingState, now: number): Pairing[] {
  const waiting = asking.filter((one) => isValidCode(one, now));
  return [
    ...admitted.map((one): Pairing => ({ channel, ...one, state: 'admitted' })),
    ...waiting.map(({ sender, name, until }): Pairing => {
      return { channel, sender, name, state: 'asking', at: until };
    }),
  ];
}

const codeMs = hourMs;
/** The clocks of a cluster differ by less than this. */
const skewMsMax = 60_000;

function isValidCode(one: PendingCode, now: number): boolean {
  return one.code !== null && isRecent(one, now);
}

/**
 * Within the hour. An entry from a clock that was ahead does not count: it would block its sender.
 */
function isRecent({ until }: PendingCode, now: number): boolean {
  return until > now && until <= now + codeMs + skewMsMax;
}

function withoutCodeOf(asking: readonly PendingCode[], sender: string): readonly PendingCode[] {
  return asking.map((one) => (one.sender === sender ? withoutCode(one) : one));
}

function withoutCode(one: PendingCode): PendingCode {
  return { ...one, name: null, code: null };
}
