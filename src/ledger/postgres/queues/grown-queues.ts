/**
 * Finds what other instances have accepted in lanes that are kept by replies alone. When a lane is
 * let go such messages show, but a reply may wait long for its next try, and they are not to wait
 * with it. Lanes with messages show them by the next number, or are let go after the last of them.
 */
import type { WorkingSet } from '../../engine/order/working-set.ts';
import type { Reads } from '../deps.ts';
import { toText } from '../server/text.ts';
import type { OwnedQueue } from './owned-queue.ts';
import type { OwnedQueues } from './owned-queues.ts';

/** So many lanes are looked at in one go; the others have their turn after them. */
const queuesMax = 1_000;

const tails = `
SELECT x.place, lane.tail FROM json_to_recordset($1) AS x(place integer, channel text COLLATE "C",
  conversation text COLLATE "C", epoch bigint)
CROSS JOIN LATERAL (
  SELECT tail, epoch FROM svc.lane WHERE channel = x.channel AND conversation = x.conversation
  OFFSET 0
) AS lane WHERE lane.epoch = x.epoch`;

export type GrownQueuesDeps = {
  readonly rows: WorkingSet;
  readonly queues: OwnedQueues;
  readonly reads: Reads;
};

export class GrownQueues {
  readonly #deps: GrownQueuesDeps;
  #isLooking = false;
  /** How many were passed over, so that all have their turn. */
  #from = 0;

  constructor(deps: GrownQueuesDeps) {
    this.#deps = deps;
  }

  /** Nothing is done while a look goes on. Never rejects. */
  async look(): Promise<void> {
    const waiting = this.#isLooking ? [] : this.#waiting();
    if (waiting.length === 0) return;
    this.#isLooking = true;
    const { queues, reads } = this.#deps;
    try {
      const named = waiting.map(({ channel, conversation, epoch }, place) => {
        return { place, channel, conversation: toText(conversation), epoch };
      });
      const found = await reads.ask({ text: tails, values: [JSON.stringify(named)] });
      for (const { place, tail } of found)
        queues.mayHaveGrown(waiting[Number(place)]!, Number(tail));
    } catch {
      // The next beat looks again.
    } finally {
      this.#isLooking = false;
    }
  }

  #waiting(): readonly OwnedQueue[] {
    const all = [...this.#deps.queues].filter((queue) => this.#waitsForReplies(queue));
    if (this.#from >= all.length) this.#from = 0;
    const some = all.slice(this.#from, this.#from + queuesMax);
    this.#from += some.length;
    return some;
  }

  #waitsForReplies({ channel, conversation }: OwnedQueue): boolean {
    const [known] = this.#deps.rows.queuesOn(channel, conversation);
    return known !== undefined && known.inbox.length === 0 && known.outbox.length > 0;
  }
}
