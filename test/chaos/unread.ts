/** Clients that pipeline requests and read no answers, against both listeners of the program. */
import type { Proof, Size } from './proof.ts';
import { Siege, type Found, type Harshness } from './unread/siege.ts';

/** The storages of the program, one after the other. */
const houses = [
  { name: 'SQLite', storage: { storage: { path: 'svc.db' }, session: {} } },
  { name: 'no storage', storage: {} },
];

const sizes = { change: 300, nightly: 9_000 } as const;
/**
 * For one program. An operator's deletions read all of the database: thousands of them on a large
 * one would only show how long a write waits.
 */
const connectionsMax = 300;
/** For every change svc must live and answer; the speed of its answers has no bound. */
const harshness: Readonly<Record<Size, Harshness>> = {
  change: { isJudged: false, rounds: 1, floodMs: 500 },
  nightly: { isJudged: true, rounds: 1, floodMs: 2_000 },
};

export const unread: Proof = {
  name: 'unread',
  title:
    'Pipelined requests whose answers nobody reads, at both listeners: no crash, every answer ' +
    'well-formed and in order, every probe answered in time, sockets as before',
  unit: 'connections',
  sizes,
  async run(count, seed, say) {
    const size = count >= sizes.nightly ? 'nightly' : 'change';
    const found: Found[] = [];
    const sieges = Math.max(houses.length, Math.ceil(count / connectionsMax));
    for (let at = 0; at < sieges; at++) {
      const house = houses[at % houses.length]!;
      await using siege = await Siege.open(house);
      const order = { count: Math.ceil(count / sieges), seed: seed + at };
      found.push(await siege.attack(order, harshness[size]));
      say(`${at + 1} of ${sieges}, ${house.name}: all is well`);
    }
    return { kind: 'proved', figures: figuresOf(found) };
  },
};

function figuresOf(found: readonly Found[]): Record<string, number> {
  const sum = (of: (one: Found) => number): number => found.reduce((all, one) => all + of(one), 0);
  const most = (of: (one: Found) => number): number => {
    return Math.round(Math.max(...found.map(of)) * 10) / 10;
  };
  return {
    connections: sum(({ connections }) => connections),
    'requests sent': sum(({ requests }) => requests),
    'answers read': sum(({ answers }) => answers),
    'closed by svc': sum(({ closed }) => closed),
    probes: sum(({ probes }) => probes),
    'of them judged': sum(({ judged }) => judged),
    'ms of a calm probe': most(({ calmMs }) => calmMs),
    'ms of the slowest': most(({ slowestMs }) => slowestMs),
    'ms that the machine does not explain': most(({ unexplainedMs }) => unexplainedMs),
    'ms of the slowest to the control': most(({ controlMs }) => controlMs),
    'MiB grown': most(({ grownMiB }) => grownMiB),
  };
}
