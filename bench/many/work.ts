/**
 * The work of an instance in these measurements. It accepts messages, answers all offered ones at
 * once, and delivers. No HTTP and no model.
 */
import { createIdSource } from '../../src/domain/ids.ts';
import { WorkerPool } from '../../src/pipeline/worker-pool.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openPostgresStore, type PostgresStore } from '../../src/ledger/postgres/postgres.ts';
import type { PeersTimes } from '../../src/ledger/postgres/peers/peers.ts';
import type { InClaim, Ledger, OutClaim } from '../../src/ledger/ledger.ts';
import { effects, hook, said } from '../../test/contract/ledger/kit.ts';

const text = 'What was said is some eighty characters long, as most of what people write is. ';
const slots = 1_000;

/** Opens a store whose intervals may be shorter than usual. @throws why there is none */
export async function openStore(
  url: string,
  peersTimes: Partial<PeersTimes> = {},
): Promise<PostgresStore> {
  const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);
  const ids = createIdSource(Date.now, random);
  const given = { ...systemClock, ids, retentionDays: 30, peersTimes };
  const onFault = (error: unknown): void => queueMicrotask(() => fail(error));
  const store = await openPostgresStore({ url, version: 'bench', onFault, ...given });
  if ('kind' in store) throw new Error(store.message);
  return store;
}

/** @param by the accepting instance, as the sender's id */
export async function accept(ledger: Ledger, conversation: string, by: string): Promise<boolean> {
  const sender = { id: by, name: null };
  const key = `${by} ${Math.random()}`;
  const acceptance = await ledger.accept([said(conversation, text, { sender, dedupeKey: key })]);
  return acceptance.kind === 'accepted';
}

/** Counters of an instance since it was opened. */
export type Count = {
  readonly delivered: number;
  /** Messages that another instance accepted and this one answered. */
  readonly foreign: number;
  readonly cpuUs: number;
};

export class Work {
  readonly #ledger: Ledger;
  readonly #self: string;
  /** Accepts messages while there is room. */
  #more: () => void = () => {};
  #isAsked = false;
  #accepting = 0;
  #replies = 0;
  #delivered = 0;
  #foreign = 0;

  /** Starts to work. @param self as in `accept` */
  constructor(ledger: Ledger, self: string) {
    this.#ledger = ledger;
    this.#self = self;
    const rest = { slots, rested: (): void => {}, failed: fail };
    const inbox = new WorkerPool<InClaim>({
      take: (n) => ledger.claim('in', hook, n),
      work: (claim) => this.#answer(claim),
      ...rest,
    });
    const outbox = new WorkerPool<OutClaim>({
      take: (n) => ledger.claim('out', hook, n),
      work: (claim) => this.#deliver(claim),
      ...rest,
    });
    ledger.onReady((box) => (box === 'in' ? inbox : outbox).wake());
    inbox.wake();
    outbox.wake();
  }

  get count(): Count {
    const { user, system } = process.cpuUsage();
    return { delivered: this.#delivered, foreign: this.#foreign, cpuUs: user + system };
  }

  /**
   * Keeps accepting messages, up to this many unfinished ones.
   * @param next the conversation of the next one
   * @returns a function that ends it, and resolves when none is unfinished
   */
  acceptAll(atOnce: number, next: () => string): () => Promise<void> {
    this.#more = (): void => {
      this.#isAsked = false;
      for (let free = atOnce - this.#accepting - this.#inHand; free > 0; free--) {
        void this.#accept(next());
      }
    };
    this.#more();
    return async () => {
      this.#more = (): void => void (this.#isAsked = false);
      while (this.#accepting + this.#inHand > 0) await new Promise((done) => setTimeout(done, 10));
    };
  }

  /** A reported delivery no longer counts, though the ledger may not have written it yet. */
  get #inHand(): number {
    return this.#ledger.gauges().inboxWaiting + this.#replies;
  }

  /** Accepts once for all that end in one turn of the event loop. */
  #soon(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    setImmediate(() => this.#more());
  }

  async #accept(conversation: string): Promise<void> {
    this.#accepting++;
    await accept(this.#ledger, conversation, this.#self);
    this.#accepting--;
    this.#soon();
  }

  async #answer(claim: InClaim): Promise<void> {
    if (claim.message.sender.id !== this.#self) this.#foreign++;
    this.#replies++;
    if (!(await this.#ledger.complete(claim, effects(claim, [text])))) this.#replies--;
  }

  async #deliver(claim: OutClaim): Promise<void> {
    await this.#ledger.delivered(claim);
    this.#replies--;
    this.#delivered++;
    this.#soon();
  }
}

function fail(error: unknown): void {
  throw error;
}
