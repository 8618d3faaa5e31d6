/** How messages come in: written down first, claimable and acknowledged after the commit. */
import type { Acceptance, Receipt } from '../../channel/channel.ts';
import { dedupeMsOf } from '../../channel/kinds.ts';
import type { MessageId } from '../../domain/ids.ts';
import type { Inbound, Message } from '../../domain/message.ts';
import type { Whose } from '../../domain/story.ts';
import { refused, type Doorway } from '../doorway.ts';
import { isOf } from '../removal.ts';
import type { CursorMove } from '../store.ts';
import { acceptWrite } from './bodies.ts';
import type { Known } from './gathered.ts';
import type { DurableParts } from './parts.ts';

type Arrival = { readonly message: Message; readonly seq: number; readonly place: number };

type Unwanted = { readonly whose: Whose; readonly before: number };

const safe = Promise.resolve();
const storageRetryMs = 5_000;

export class Arrivals {
  readonly #parts: DurableParts;
  readonly #door: Doorway;
  /** Messages on their way to the disk. */
  #count = 0;
  #unwanted: Unwanted | null = null;

  constructor(parts: DurableParts, door: Doorway) {
    this.#parts = parts;
    this.#door = door;
  }

  get count(): number {
    return this.#count;
  }

  async accept(batch: readonly Inbound[], cursors: readonly CursorMove[]): Promise<Acceptance> {
    const refusal = this.#door.refusal(batch);
    if (refusal !== null) return refusal;
    const { journal } = this.#parts;
    const arrivals = batch.map((inbound) => this.#arrive(inbound));
    for (const { channel, name, value } of cursors) journal.add(['cursor', channel, name, value]);
    this.#count += arrivals.length;
    return new Promise((resolve) => {
      const written = (known: Known | null): void => {
        this.#count -= arrivals.length;
        if (known === null) return resolve(refused('storage_failed', storageRetryMs));
        const receipts = arrivals.map((arrival) => this.#receive(arrival, known));
        resolve({ kind: 'accepted', receipts });
      };
      const noRoom = (): void => {
        this.#count -= arrivals.length;
        // To the sender it is as any full inbox: it goes on by itself.
        resolve(refused('full', storageRetryMs));
      };
      journal.flush(written, noRoom);
    });
  }

  /**
   * What is theirs and on its way to the disk, numbered below `before`, is not to be worked.
   * @returns to be called when all of it has arrived
   */
  unwanted(what: Unwanted): () => void {
    this.#unwanted = what;
    return () => {
      this.#unwanted = null;
    };
  }

  #isUnwanted(message: Message, seq: number): boolean {
    const unwanted = this.#unwanted;
    return unwanted !== null && seq < unwanted.before && isOf(unwanted.whose, message);
  }

  #arrive({ dedupeKey, ...facts }: Inbound): Arrival {
    const { journal, rows, ids, now } = this.#parts;
    const acceptedAt = now();
    const message: Message = { ...facts, id: ids.message(), acceptedAt };
    const seq = rows.nextSeq();
    const write = acceptWrite(seq, message);
    if (dedupeKey === null) return { message, seq, place: journal.add(write) };
    const expiresAt = acceptedAt + dedupeMsOf(message.channel);
    return { message, seq, place: journal.add({ key: dedupeKey, expiresAt, write }) };
  }

  #receive({ message, seq, place }: Arrival, known: Known): Receipt {
    const first = known.get(place);
    if (first !== undefined) return { id: first as MessageId, duplicate: true, safe };
    if (!this.#isUnwanted(message, seq)) this.#parts.rows.addMessage(message, seq);
    return { id: message.id, duplicate: false, safe };
  }
}
