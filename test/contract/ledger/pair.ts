/**
 * Two instances on one database as one ledger: each call goes to one of them, dealt by a seed, and
 * a claim ends where it was given. What one of them has accepted in a conversation that the other
 * one works comes only when that one lets go of it, so whoever claims waits until nothing is on its
 * way any more.
 */
import type { Client } from 'pg';
import type { Claim, Ledger, Gauges, ChannelBacklog } from '../../../src/store/store.ts';
import type { Box } from '../../../src/domain/event.ts';
import type { ChannelKey } from '../../../src/domain/ids.ts';
import { until } from './kit.ts';

/** More than any case has unsettled. */
const idsMax = 1_000_000;

/**
 * What somebody must have in hand: the first message of a conversation without replies that hold it
 * up, and every reply that is not parked. $1: now, milliseconds since 1970.
 */
const expected = `
SELECT id FROM svc.outbox WHERE NOT parked OR due_at <= $1
UNION ALL
SELECT id FROM (
  SELECT DISTINCT ON (channel, conversation) id, channel, conversation FROM svc.inbox
  ORDER BY channel, conversation, n
) AS head WHERE NOT EXISTS (
  SELECT FROM svc.outbox AS reply WHERE reply.channel = head.channel
    AND reply.conversation = head.conversation AND NOT reply.parked
)`;

export type PairParts = {
  readonly both: readonly [Ledger, Ledger];
  /** A connection to their database. */
  readonly client: Client;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

export function pairOf({ both, client, random, now }: PairParts): Ledger {
  const givenBy = new WeakMap<object, Ledger>();
  const dealt = (): Ledger => both[random() < 0.5 ? 0 : 1];
  const of = (given: object): Ledger => givenBy.get(given) ?? dealt();
  const [first] = both;

  const quiet = async (): Promise<void> => {
    let looks = 0;
    await until('nothing is on its way', async () => {
      if (looks++ > 300) return true;
      if (both.some((one) => one.gauges().commitsPending > 0)) return false;
      const { rows } = await client.query<{ id: string }>(expected, [now()]);
      const inHand = new Set(both.flatMap((one) => one.unsettled(idsMax)));
      return rows.every(({ id }) => inHand.has(id));
    });
  };

  async function claim<C extends Claim>(
    take: (from: Ledger, n: number) => Promise<readonly C[]>,
    n: number,
  ): Promise<readonly C[]> {
    await quiet();
    const claims: C[] = [];
    const order = random() < 0.5 ? both : both.toReversed();
    for (const from of order) {
      const some = n > claims.length ? await take(from, n - claims.length) : [];
      for (const one of some) givenBy.set(one, from);
      claims.push(...some);
    }
    return claims;
  }

  return {
    durability: first.durability,
    // A cursor is moved by one alone, who has the connection.
    accept: (batch, ...cursors) => (cursors.length > 0 ? first : dealt()).accept(batch, ...cursors),
    cursor: (channel, name) => first.cursor(channel, name),
    room: () => leastOf(both.map((one) => one.room())),
    whenRoom: async (signal) => void (await Promise.all(both.map((one) => one.whenRoom(signal)))),
    claim: ((box: Box, channel: ChannelKey, n: number) =>
      box === 'in'
        ? claim((from, most) => from.claim('in', channel, most), n)
        : claim((from, most) => from.claim('out', channel, most), n)) as Ledger['claim'],
    complete: (one, effects) => of(one).complete(one, effects),
    delivered: (one) => of(one).delivered(one),
    defer: (one, at, why, how) => of(one).defer(one, at, why, how),
    release: (one) => of(one).release(one),
    bury: (one, why, effects) => of(one).bury(one, why, effects),
    recall: (one, n) => of(one).recall(one, n),
    notes: (one, scope) => of(one).notes(one, scope),
    toolUses: (one, n) => of(one).toolUses(one, n),
    serve(channels) {
      for (const one of both) one.serve(channels);
    },
    replay: (id) => dealt().replay(id),
    discard: (id) => dealt().discard(id),
    forget: (whose) => dealt().forget(whose),
    clearNotes: (notes) => dealt().clearNotes(notes),
    onReady(wake) {
      const stops = both.map((one) => one.onReady(wake));
      return () => {
        for (const stop of stops) stop();
      };
    },
    backlog: () => sumOf(both.map((one) => one.backlog())),
    unsettled: (most) => both.flatMap((one) => one.unsettled(most)).slice(0, most),
    gauges: () => gaugesOf([both[0].gauges(), both[1].gauges()]),
    closeIntake() {
      for (const one of both) one.closeIntake();
    },
    recordWrite: (row) => dealt().recordWrite(row),
    calls: {
      journal: (one, call) => of(one).calls.journal(one, call),
      journalEnd: (one, key, ending) => of(one).calls.journalEnd(one, key, ending),
      earlierCalls: (one) => of(one).calls.earlierCalls(one),
    },
    async [Symbol.asyncDispose]() {
      for (const one of both) await one[Symbol.asyncDispose]();
    },
  };
}

type Room = ReturnType<Ledger['room']>;

function leastOf(rooms: readonly Room[]): Room {
  const least = (of: keyof Room): number => Math.min(...rooms.map((room) => room[of]));
  return { messages: least('messages'), bytes: least('bytes') };
}

function sumOf(all: readonly (readonly ChannelBacklog[])[]): readonly ChannelBacklog[] {
  const channels = Map.groupBy(all.flat(), ({ channel }) => channel);
  return [...channels.values()].map((of) =>
    of.reduce((one, other) => ({
      channel: one.channel,
      inbox: one.inbox + other.inbox,
      outbox: one.outbox + other.outbox,
      oldestAt: Math.min(one.oldestAt, other.oldestAt),
      unroutableSince: one.unroutableSince ?? other.unroutableSince,
    })),
  );
}

/** Bounds and dead letters are of all; the rest is of what each has in hand. */
function gaugesOf([one, other]: readonly [Gauges, Gauges]): Gauges {
  const sums = Object.entries(one).map(([name, n]) => [name, n + other[name as keyof Gauges]]);
  const { bytesMax, messagesMax } = one;
  const deadLetters = Math.max(one.deadLetters, other.deadLetters);
  return { ...(Object.fromEntries(sums) as Gauges), bytesMax, messagesMax, deadLetters };
}
