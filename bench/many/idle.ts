/** Measures a message, a heartbeat and a dead instance beside many resting conversations. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { connect } from '../../src/ledger/postgres/server/connect.ts';
import { migrate } from '../../src/ledger/postgres/server/migrations.ts';
import type { InClaim, Ledger, OutClaim } from '../../src/ledger/ledger.ts';
import { effects, hook } from '../../test/contract/ledger/kit.ts';
import { figure, median, table } from '../stats.ts';
import { takeOver } from './deaths.ts';
import { fillIdle, namesOf, park, queue } from './filled.ts';
import { startServer } from './server.ts';
import { costNames, forgetCosts, readCosts, withStatements, type Cost } from './statements.ts';
import { accept, openStore } from './work.ts';

/** Frequent heartbeats give many measurements. */
const heartbeats = { heartbeatMs: 50 };
const never = 9_000_000_000_000;
/** The number of parked replies, independent of the number of conversations. */
const parked = 2_000;
/** A prime number that divides none of the sizes. */
const stride = 7_919;
/** The ledger has released a quiet queue after this time. */
const quietMs = 40;

const wholeStart = 'a start, all of it';
const wholeDeath = 'a lane of the dead, with its answer';

/** `times`: repetitions of each step; `queues`: conversation queues of the dying instance. */
export type IdleSizes = {
  readonly blind: boolean;
  readonly conversations: readonly number[];
  readonly times: number;
  readonly deaths: number;
  readonly queues: number;
};

/** The results for one size: medians in milliseconds, and the server's own costs of statements. */
type Column = {
  readonly conversations: number;
  readonly ms: ReadonlyMap<string, number>;
  readonly costs: ReadonlyMap<string, Cost>;
};

/** `blind`: measures also first, before the planner has statistics. */
export async function measureIdle(sizes: IdleSizes): Promise<void> {
  const unknown: Column[] = [];
  const known: Column[] = [];
  for (const conversations of sizes.conversations) {
    await using server = await startServer({ ...withStatements, autovacuum: 'off' });
    const url = await server.newDatabase();
    const client = await connect(url);
    await client.query('CREATE EXTENSION pg_stat_statements');
    await migrate(client);
    const begunAt = performance.now();
    await fillIdle(client, conversations);
    await park(client, range(1, parked), never);
    const seconds = (performance.now() - begunAt) / 1e3;
    console.log(`${figure(conversations)} conversations, filled in ${figure(seconds)} s`);
    const probe = new Probe(url, client, conversations, sizes);
    if (sizes.blind) unknown.push(await probe.run());
    await client.query('VACUUM ANALYZE');
    known.push(await probe.run());
    await client.end();
  }
  if (sizes.blind) tell('no statistics', unknown);
  tell('fresh statistics', known);
}

function tell(what: string, columns: readonly Column[]): void {
  const [first, last] = [columns[0]!, columns.at(-1)!];
  const head = [...columns.map(({ conversations }) => figure(conversations)), 'last ÷ first'];
  console.log(`\n${what}: medians in ms, by the number of conversations`);
  const times = [...first.ms.keys()].map((name) => [
    name,
    ...columns.map(({ ms }) => figure(ms.get(name)!)),
    figure(last.ms.get(name)! / first.ms.get(name)!, 2),
  ]);
  console.log(table([['', ...head], ...times]));
  console.log(`\n${what}: µs that a statement takes the server (pages that it looks at)`);
  const costs = [...costNames, wholeStart, wholeDeath].map((name) => {
    const all = columns.map((column) => column.costs.get(name) ?? nothing);
    const [least, most] = [all[0]!, all.at(-1)!];
    return [name, ...all, { us: most.us / least.us, pages: most.pages / least.pages }].map((one) =>
      typeof one === 'string' ? one : `${figure(one.us, 2)} (${figure(one.pages, 2)})`,
    );
  });
  console.log(table([['', ...head], ...costs]));
}

const nothing: Cost = { us: Number.NaN, pages: Number.NaN };

class Probe {
  readonly #url: string;
  readonly #client: Client;
  readonly #conversations: number;
  readonly #sizes: IdleSizes;
  /** Conversations that some step has used. */
  #taken = 0;

  constructor(url: string, client: Client, conversations: number, sizes: IdleSizes) {
    this.#url = url;
    this.#client = client;
    this.#conversations = conversations;
    this.#sizes = sizes;
  }

  async run(): Promise<Column> {
    const { times, deaths } = this.#sizes;
    const costs = new Map<string, Cost>();
    const starts = Math.ceil(times / 10);
    await forgetCosts(this.#client);
    const started = await this.#starts(starts);
    costs.set(wholeStart, perEach((await readCosts(this.#client)).all, starts));
    const { ledger, peers } = await openStore(this.#url, heartbeats);
    ledger.serve([hook]);
    await forgetCosts(this.#client);
    const messages = await this.#messages(ledger, String(peers.id));
    await this.#takes(ledger);
    for (const [name, cost] of (await readCosts(this.#client)).named) costs.set(name, cost);
    await ledger[Symbol.asyncDispose]();
    const died: Death[] = [];
    for (let death = 0; death < deaths; death++) died.push(await this.#death());
    costs.set(wholeDeath, died.toSorted((a, b) => a.cost.us - b.cost.us)[died.length >> 1]!.cost);
    const ms = new Map([
      ['a start', started],
      ...messages,
      ['killed until declared dead', median(died.map(({ dead }) => dead))],
      ['declared dead until all is answered', median(died.map(({ answered }) => answered))],
    ]);
    return { conversations: this.#conversations, ms, costs };
  }

  async #starts(count: number): Promise<number> {
    const took: number[] = [];
    for (let start = 0; start < count; start++) {
      const begunAt = performance.now();
      const { ledger } = await openStore(this.#url);
      took.push(performance.now() - begunAt);
      await ledger[Symbol.asyncDispose]();
    }
    return median(took);
  }

  /** One message at a time, each in another resting conversation. */
  async #messages(ledger: Ledger, self: string): Promise<readonly (readonly [string, number])[]> {
    const names = await namesOf(this.#client, this.#some(this.#sizes.times));
    const took = { accepted: [] as number[], offered: [] as number[], settled: [] as number[] };
    for (const name of names) {
      const begunAt = performance.now();
      await accept(ledger, name, self);
      const acceptedAt = performance.now();
      const [claim] = await claims(ledger, 'in');
      const offeredAt = performance.now();
      await ledger.complete(claim!, effects(claim!, ['an answer']));
      const [reply] = await claims(ledger, 'out');
      await ledger.delivered(reply!);
      took.accepted.push(acceptedAt - begunAt);
      took.offered.push(offeredAt - acceptedAt);
      took.settled.push(performance.now() - offeredAt);
      await pause(quietMs);
    }
    return [
      ['a message accepted', median(took.accepted)],
      ['offered after that', median(took.offered)],
      ['answered and delivered', median(took.settled)],
    ];
  }

  /** Takes messages that wait and replies that are due, one conversation queue at a time. */
  async #takes(ledger: Ledger): Promise<void> {
    for (const number of this.#some(this.#sizes.times)) {
      await queue(this.#client, number);
      const [claim] = await claims(ledger, 'in');
      await ledger.complete(claim!, effects(claim!, []));
      await pause(quietMs);
      await park(this.#client, [number], 1);
      const [due] = await claims(ledger, 'out');
      await ledger.delivered(due!);
      await pause(quietMs);
    }
  }

  async #death(): Promise<Death> {
    const names = await namesOf(this.#client, this.#some(this.#sizes.queues));
    const declared = (): Promise<void> => forgetCosts(this.#client);
    const [dead, answered] = await takeOver(this.#url, this.#client, { names, declared });
    return { dead, answered, cost: perEach((await readCosts(this.#client)).all, names.length) };
  }

  /** Returns conversations with nothing parked, far apart, and others at each call. */
  #some(count: number): readonly number[] {
    const among = this.#conversations - parked;
    return range(1, count).map(() => parked + 1 + ((this.#taken++ * stride) % among));
  }
}

type Death = { readonly dead: number; readonly answered: number; readonly cost: Cost };

function perEach({ us, pages }: Cost, things: number): Cost {
  return { us: us / things, pages: pages / things };
}

function claims(ledger: Ledger, box: 'in'): Promise<readonly InClaim[]>;
function claims(ledger: Ledger, box: 'out'): Promise<readonly OutClaim[]>;
async function claims(ledger: Ledger, box: 'in' | 'out') {
  for (;;) {
    const rung = Promise.withResolvers<void>();
    const stop = ledger.onReady(() => rung.resolve());
    const found =
      box === 'in' ? await ledger.claim(box, hook, 1) : await ledger.claim(box, hook, 1);
    if (found.length === 0) await rung.promise;
    stop();
    if (found.length > 0) return found;
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
