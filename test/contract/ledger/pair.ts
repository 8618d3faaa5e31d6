/**
 * Two instances on one database as one ledger: each call goes to one of them, dealt by a seed, and
 * a claim ends where it was given. What one of them has accepted in a conversation that the other
 * one works comes only when that one lets go of it, so whoever claims waits until nothing is on its
 * way any more.
 */
import type { Client } from 'pg';
import type { Acceptance } from '../../../src/channel/channel.ts';
import type { Claim, Ledger, Gauges, ChannelBacklog } from '../../../src/store/store.ts';
import type { Box } from '../../../src/domain/event.ts';
import type { ChannelKey } from '../../../src/domain/ids.ts';
import { until, type Limits } from './kit.ts';

/** More than any case has unsettled. */
const idsMax = 1_000_000;

/**
 * What somebody must have in hand: the first message and the first reply of each conversation, and
 * what was parked and is due. $1: now, milliseconds since 1970.
 */
const expected = `
SELECT id FROM svc.outbox WHERE parked AND due_at <= $1
UNION ALL
(SELECT DISTINCT ON (channel, conversation) id FROM svc.outbox WHERE NOT parked
  ORDER BY channel, conversation, seq)
UNION ALL
(SELECT DISTINCT ON (channel, conversation) id FROM svc.inbox ORDER BY channel, conversation, n)`;

/** What is unsettled, and how many dead letters there are. */
const totals = `
SELECT (SELECT count(*) FROM (
    SELECT id FROM svc.inbox UNION SELECT message_id FROM svc.outbox
  ) AS unsettled) AS messages,
  (SELECT count(*) FROM svc.message WHERE failure IS NOT NULL)
    + (SELECT count(DISTINCT left(id, 22)) FROM svc.sent WHERE failure IS NOT NULL) AS letters`;

export type PairParts = {
  readonly both: readonly [Ledger, Ledger];
  /** A connection to their database. */
  readonly client: Client;
  readonly random: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly limits: Limits;
  /** Is told what is served from now on. */
  readonly serves: (channels: readonly ChannelKey[]) => void;
};

/** Resolves when nothing is on its way to one of them. */
export async function inHand({
  both,
  client,
  now,
}: Pick<PairParts, 'both' | 'client' | 'now'>): Promise<void> {
  await until('nothing is on its way', async () => {
    const { rows } = await client.query<{ id: string }>(expected, [now()]);
    const known = new Set(both.flatMap((one) => one.unsettled(idsMax)));
    return rows.every(({ id }) => known.has(id));
  });
}

export function pairOf({ both, client, random, now, limits, serves }: PairParts): Ledger {
  const givenBy = new WeakMap<object, Ledger>();
  const dealt = (): Ledger => both[random() < 0.5 ? 0 : 1];
  const of = (given: object): Ledger => givenBy.get(given) ?? dealt();
  const [first, second] = both;
  const { messagesMax } = limits;

  let [isClosing, isOver] = [false, false];
  /** One that drains counts no more. */
  const atWork = (): readonly Ledger[] => (isClosing ? [second] : both);

  async function claim<C extends Claim>(
    take: (from: Ledger, n: number) => Promise<readonly C[]>,
    n: number,
  ): Promise<readonly C[]> {
    if (!isOver) await inHand({ both, client, now });
    const claims: C[] = [];
    const order = random() < 0.5 ? both : both.toReversed();
    for (const from of order) {
      const some = n > claims.length ? await take(from, n - claims.length) : [];
      for (const one of some) givenBy.set(one, from);
      claims.push(...some);
    }
    return claims.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  }

  /** Until both know of the totals, as they do after a beat. */
  const known = (): Promise<void> =>
    until('both have counted', async () => {
      if (isOver) return true;
      const { rows } = await client.query<{ messages: string; letters: string }>(totals);
      const [messages, letters] = [Number(rows[0]!.messages), Number(rows[0]!.letters)];
      return atWork().every((one) => {
        const isRoom = messagesMax === undefined || one.room().messages === messagesMax - messages;
        return isRoom && one.gauges().deadLetters === letters;
      });
    });
  /** Ids tell what came before a request, and have no order among instances within a moment. */
  let asked: Promise<void> | null = null;
  const moved = (): Promise<void> => {
    const at = now();
    return until('the clock has moved', () => now() > at + 1);
  };
  const counted = async <T>(act: Promise<T>): Promise<T> => {
    const done = await act;
    await known();
    return done;
  };
  const bounded = <T>(act: Promise<T>): Promise<T> =>
    messagesMax === undefined ? act : counted(act);

  return {
    durability: first.durability,
    // A cursor is moved by one alone, who has the connection; who closes its doors says so.
    accept(batch, ...cursors) {
      const one = isClosing || cursors.length > 0 ? first : dealt();
      const take = (): Promise<Acceptance> => bounded(one.accept(batch, ...cursors));
      if (asked !== null) return asked.then(take);
      return messagesMax === undefined ? take() : known().then(take);
    },
    cursor: (channel, name) => first.cursor(channel, name),
    room: () => leastOf(both.map((one) => one.room())),
    whenRoom: async (signal) => void (await Promise.all(both.map((one) => one.whenRoom(signal)))),
    claim: ((box: Box, channel: ChannelKey, n: number) =>
      box === 'in'
        ? claim((from, most) => from.claim('in', channel, most), n)
        : claim((from, most) => from.claim('out', channel, most), n)) as Ledger['claim'],
    complete: (one, effects) => bounded(of(one).complete(one, effects)),
    delivered: (one) => bounded(of(one).delivered(one)),
    defer: (one, at, why, how) => of(one).defer(one, at, why, how),
    release: (one) => of(one).release(one),
    bury: (one, why, effects) => counted(of(one).bury(one, why, effects)),
    recall: (one, n) => of(one).recall(one, n),
    notes: (one, scope) => of(one).notes(one, scope),
    toolUses: (one, n) => of(one).toolUses(one, n),
    serve(channels) {
      serves(channels);
      for (const one of both) one.serve(channels);
    },
    replay: (id) => counted(dealt().replay(id)),
    discard: (id) => counted(dealt().discard(id)),
    forget(whose) {
      const begun = moved();
      const forgotten = begun.then(() => dealt().forget(whose));
      const later = begun.then(moved).finally(() => {
        if (asked === later) asked = null;
      });
      asked = later;
      return counted(forgotten);
    },
    clearNotes: (notes) => dealt().clearNotes(notes),
    onReady(wake) {
      const stops = both.map((one) => one.onReady(wake));
      return () => {
        for (const stop of stops) stop();
      };
    },
    backlog: () => sumOf(both.map((one) => one.backlog())),
    unsettled: (most) => both.flatMap((one) => one.unsettled(most)).slice(0, most),
    gauges: () => ({
      ...sumOfGauges(first.gauges(), second.gauges()),
      deadLetters: Math.max(...atWork().map((one) => one.gauges().deadLetters)),
    }),
    // The other one goes on with what is in.
    closeIntake() {
      isClosing = true;
      first.closeIntake();
    },
    recordWrite: (row) => dealt().recordWrite(row),
    calls: {
      journal: (one, call) => of(one).calls.journal(one, call),
      journalEnd: (one, key, ending) => of(one).calls.journalEnd(one, key, ending),
      earlierCalls: (one) => of(one).calls.earlierCalls(one),
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      await Promise.all(both.map((one) => one[Symbol.asyncDispose]()));
    },
  };
}

/** Ids tell the order in which they were given. */
function idOf(claim: Claim): string {
  return claim.box === 'in' ? claim.message.id : claim.reply.id;
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

/** Bounds are of all. Beats are pending again and again, and whoever claims has waited. */
function sumOfGauges(one: Gauges, other: Gauges): Gauges {
  const sums = Object.entries(one).map(([name, n]) => [name, n + other[name as keyof Gauges]]);
  const { bytesMax, messagesMax } = one;
  const all = { bytesMax, messagesMax, commitsPending: 0 };
  return { ...(Object.fromEntries(sums) as Gauges), ...all };
}
