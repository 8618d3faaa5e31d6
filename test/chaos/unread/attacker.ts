/** Loads svc from a process of its own, so that its work delays no probe. */
import { operationsOf, type OpenApi } from '../../admin/open-api.ts';
import { ask } from '../outside.ts';
import { Client, learn, type Expected } from './client.ts';
import { flood, type Flood, type Flooded } from './flood.ts';
import { serveOrders } from './helper.ts';
import { patternOf } from './patterns.ts';
import { adminKinds, odd, webhookKinds, type Kind, type ListenerName } from './requests.ts';

export type Played = Flooded & { readonly answers: number };
export type AttackerOrders = {
  /** Reads the routes of the service at these ports; returns their number. */
  readonly meet: (ports: Readonly<Record<ListenerName, number>>) => Promise<number>;
  /** Plays this many connections; those that stay are there until `leave`. */
  readonly play: (order: { readonly count: number; readonly seed: number }) => Promise<void>;
  readonly leave: () => Promise<Played>;
  readonly flood: (order: Flood) => Promise<Flooded>;
  /** The last patterns that began, the newest first. */
  readonly recent: () => readonly string[];
};

const atOnce = 8;
/** Far fewer than a listener has room for. */
const stayMax = 200;
const recentMax = 12;

let ports: Readonly<Record<ListenerName, number>>;
let kinds: readonly Kind[] = [];
const expected = new Map<Kind, Expected>();
const staying: Client[] = [];
const recent: string[] = [];
const total = { connections: 0, requests: 0, closed: 0, answers: 0 };

const orders: AttackerOrders = {
  async meet(given) {
    ports = given;
    expected.clear();
    const api = JSON.parse(await read('/api/v1/openapi.json')) as OpenApi;
    const pages = await Promise.all(['/ui', '/builder'].map(read));
    const assets = pages.flatMap((page) => page.match(/\/\w+\/assets\/[\w.-]+/g) ?? []);
    kinds = [...webhookKinds, ...adminKinds(api, [...new Set(assets)])];
    return operationsOf(api).length;
  },
  async play({ count, seed }) {
    // Nothing else goes on yet, so these answers are right.
    const known = [...kinds, ...Object.values(odd).flat()].filter(({ ends }) => !ends);
    await inQueues(known, async (kind) => {
      expected.set(kind, await learn(kind, ports[kind.listener]));
    });
    const sizeOf = (kind: Kind): number => expected.get(kind)!.size;
    const numbers = Array.from({ length: count }, (_, number) => number);
    await inQueues(numbers, async (number) => {
      const pattern = patternOf(number, seed, kinds, sizeOf);
      recent.unshift(pattern.text);
      recent.length = Math.min(recent.length, recentMax);
      const client = new Client(pattern, ports[pattern.listener], expected);
      if (await client.play()) staying.push(client);
      else note(client);
      if (staying.length > stayMax) await bid(staying.shift()!);
    });
  },
  async leave() {
    await Promise.all(staying.splice(0).map(bid));
    return total;
  },
  flood: (order) => {
    recent.unshift(`a flood: ${JSON.stringify(order)}`);
    return flood(order);
  },
  recent: () => recent,
};

async function bid(client: Client): Promise<void> {
  await client.leave();
  note(client);
}

function note(client: Client): void {
  total.connections++;
  total.requests += client.sent;
  total.answers += client.answered;
  if (client.isClosed) total.closed++;
}

async function read(path: string): Promise<string> {
  const answer = await ask({ port: ports.admin, path });
  return answer?.body ?? '';
}

async function inQueues<T>(list: readonly T[], act: (one: T) => Promise<void>): Promise<void> {
  const waiting = list.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const one of waiting) await act(one);
    }),
  );
}

serveOrders(orders);
