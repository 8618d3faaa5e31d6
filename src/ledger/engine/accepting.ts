/**
 * Accepts messages: they count from the moment they are let in, and are claimable after the commit.
 */
import type { Acceptance } from '../../channels/channel.ts';
import type { IdSource } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import type { IntakeLimit } from './intake-limit.ts';
import { isOf, MessageProgress } from './queue.ts';
import { bytesOfMessage } from './weight.ts';
import type { WorkingSet } from './working-set.ts';
import type { Arrival, LedgerStorage, OthersRows } from './storage.ts';
import type { CursorMove } from '../ledger.ts';

/** `underWay`: true until the message has entered the working set, or the storage has answered. */
type PendingArrival = Arrival & { readonly bytes: number; isPending: boolean };

const nothing = { messages: 0, bytes: 0 };
const settled = new MessageProgress(0, null);
settled.open = 0;

export type ArrivalDeps = {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly ids: IdSource;
  readonly rows: WorkingSet;
  readonly storage: LedgerStorage;
};

export class Accepting {
  readonly #deps: ArrivalDeps;
  readonly #intakeLimit: IntakeLimit;
  readonly #unwanted = new Set<OthersRows>();
  /** Messages on their way into the storage, and their bytes. */
  messages = 0;
  bytes = 0;

  constructor(deps: ArrivalDeps, intakeLimit: IntakeLimit) {
    this.#deps = deps;
    this.#intakeLimit = intakeLimit;
  }

  async accept(batch: readonly Inbound[], cursors: readonly CursorMove[]): Promise<Acceptance> {
    const refusal = this.#intakeLimit.refusal(batch);
    if (refusal !== null) return refusal;
    const arrivals = batch.map((inbound) => this.#arrive(inbound));
    const acceptance = await this.#deps.storage.accept(arrivals, cursors, this.#enter);
    for (const arrival of arrivals) this.#arrived(arrival);
    return acceptance;
  }

  /** The room left, with the messages on their way into the storage deducted. */
  room(): { readonly messages: number; readonly bytes: number } {
    const { storage, rows } = this.#deps;
    const { hasRoom, limits, elsewhere = nothing } = storage;
    if (!hasRoom) return nothing;
    const { unsettled, bytes } = rows.totals;
    return {
      messages: Math.max(0, limits.messagesMax - unsettled - elsewhere.messages - this.messages),
      bytes: Math.max(0, limits.bytesMax - bytes - elsewhere.bytes - this.bytes),
    };
  }

  /**
   * Keeps out of the working set those of their messages that are still on their way.
   * @returns a function to call when all of them have arrived
   */
  unwanted(theirs: OthersRows): () => void {
    this.#unwanted.add(theirs);
    return () => void this.#unwanted.delete(theirs);
  }

  #arrive(inbound: Inbound): PendingArrival {
    // `gather` holds the time at which the message was sent.
    const { dedupeKey, keyCheck, saidAt: _, edits: __, ...facts } = inbound;
    const { rows, ids, now } = this.#deps;
    const { sensitivity = 'private' } = facts;
    const message = { ...facts, sensitivity, id: ids.message(), acceptedAt: now() };
    const bytes = bytesOfMessage(message);
    this.messages++;
    this.bytes += bytes;
    const key = { dedupeKey, keyCheck: keyCheck ?? null };
    return { message, seq: rows.nextSeq(), ...key, bytes, isPending: true };
  }

  readonly #enter = (arrival: Arrival): MessageProgress => {
    this.#arrived(arrival as PendingArrival);
    const { message, seq } = arrival;
    for (const { whose, beforeId } of this.#unwanted) {
      if (message.id < beforeId && isOf(whose, message, message.sender.id)) return settled;
    }
    return this.#deps.rows.addMessage(message, seq).progress;
  };

  #arrived(arrival: PendingArrival): void {
    if (!arrival.isPending) return;
    arrival.isPending = false;
    this.messages--;
    this.bytes -= arrival.bytes;
  }
}
