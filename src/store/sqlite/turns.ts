/** How messages are handed out, with what their conversation remembers, and how turns end. */
import type { Failure } from '../../domain/failure.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import { upTo, type OpenClaims } from '../claims.ts';
import type { Doorway } from '../doorway.ts';
import type { InRow } from '../rows.ts';
import type { Effects, InClaim } from '../store.ts';
import { noteWrites, toolUseWrites } from './agent-writes.ts';
import { replyWrite, summaryValues, traceWrite } from './bodies.ts';
import type { DurableParts } from './parts.ts';
import type { Quarantine } from './quarantine.ts';
import type { Recollection } from './recollection.ts';
import type { Write } from './statements.ts';
import { tracesPendingMax } from './terms.ts';
import { memoryAfter, turnWrites } from './turn.ts';

export type TurnParts = DurableParts & {
  readonly open: OpenClaims;
  readonly door: Doorway;
  readonly recollection: Recollection;
  readonly quarantine: Quarantine;
  /** Is told of a history that cannot be read. */
  readonly failed: (error: unknown) => void;
};

export class Turns {
  readonly #parts: TurnParts;
  /** Traces left out, since the storage was behind. */
  tracesDropped = 0;

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  claim(channel: ChannelKey, n: number): readonly InClaim[] {
    return upTo(n, () => this.#next(channel));
  }

  /** The next suspect, if it is of this channel; see Quarantine. */
  async claimSuspect(channel: ChannelKey): Promise<InClaim | null> {
    const row = await this.#parts.quarantine.next(channel);
    return row === null ? null : this.#claimOf(row);
  }

  /** The next message of a channel that is not served, to be buried. */
  claimUnserved(channel: ChannelKey): InClaim | null {
    const held = this.#parts.quarantine.takeUnserved(channel);
    return held === null ? this.#next(channel) : this.#claimOf(held);
  }

  complete(claim: InClaim, effects: Effects): Promise<boolean> {
    return this.#finish(claim, effects, (seq, now) => {
      return ['inboxSettled', ...summaryValues(effects), now, seq];
    });
  }

  bury(claim: InClaim, why: Failure, effects: Effects | undefined): Promise<boolean> {
    const reason = JSON.stringify(why);
    return this.#finish(claim, effects, (seq, now) => {
      return ['inboxDead', ...summaryValues(effects), now, reason, seq];
    });
  }

  release(claim: InClaim): void {
    const { open, quarantine, rows } = this.#parts;
    const row = open.endIn(claim);
    if (row !== null && !quarantine.released(row)) rows.giveBack(row);
  }

  #next(channel: ChannelKey): InClaim | null {
    const row = this.#parts.rows.take('in', channel);
    return row === undefined ? null : this.#claimOf(row);
  }

  #claimOf(row: InRow): InClaim | null {
    const { open, recollection, rows, failed } = this.#parts;
    try {
      return open.claimIn(row, recollection.of(row.message));
    } catch (error) {
      rows.giveBack(row);
      failed(error);
      return null;
    }
  }

  #finish(
    claim: InClaim,
    effects: Effects | undefined,
    ending: (seq: number, now: number) => Write,
  ): Promise<boolean> {
    const { open, journal, rows, now } = this.#parts;
    const row = open.endIn(claim);
    if (row === null) return Promise.resolve(false);
    const { message } = row;
    journal.add(ending(row.seq, now()));
    const memory = memoryAfter(message, claim.memory, effects);
    for (const write of turnWrites(message, row.seq, memory, effects)) journal.add(write);
    const nextSeq = (): number => rows.nextSeq();
    for (const write of noteWrites(message, effects?.notes ?? [], nextSeq)) journal.add(write);
    for (const write of toolUseWrites(message, effects?.toolUses ?? [], nextSeq)) {
      journal.add(write);
    }
    const replies = (effects?.replies ?? []).map((reply) => {
      const seq = rows.nextSeq();
      journal.add(replyWrite(seq, reply));
      return { reply, seq };
    });
    const trace = effects?.trace ?? null;
    if (trace !== null && journal.pending >= tracesPendingMax) this.tracesDropped++;
    else if (trace !== null) journal.add(traceWrite(message.id, trace));
    return journal.written(() => {
      const { recollection, quarantine, door } = this.#parts;
      if (!row.gone) {
        for (const { reply, seq } of replies) rows.addReply(reply, row.settlement, seq);
      }
      if (row.gone || row.edition < row.lane.edition) recollection.drop(message);
      else recollection.put(message, memory);
      rows.settle(row);
      quarantine.ended(row);
      door.settled();
    });
  }
}
