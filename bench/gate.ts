/**
 * `npm run bench -- --gate`: tells whether a message costs more CPU than the figure in
 * `bench/budget.json`. It compares ratios to the floors, measured in pairs of short rounds, since a
 * slow machine slows both servers.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import {
  type Figure,
  figureOf,
  isInDoubt,
  judge,
  type Judged,
  type Pair,
  percent,
  verdictOf,
} from './budget.ts';
import type { Backend, Lab } from './lab.ts';
import { figure, median, table } from './stats.ts';

export type Gate = {
  readonly file: string;
  readonly machine: string;
  /** Measures longer, and stores the result as the budget of this kind of machine. */
  readonly keep: boolean;
};

/** An entry of the file for one kind of machine; other machines have other ratios. */
type Kept = {
  readonly machine: string;
  readonly node: string;
  readonly day: string;
} & Readonly<Record<Backend, Figure>>;

type Found = { readonly figure: Figure; readonly svcUs: number; readonly floorUs: number };

type Launch = readonly Pair[];

/** The number of starts of both servers, and the length of each measurement. */
type Size = { readonly launches: number; readonly ms: number };
const judgedSize: Size = { launches: 4, ms: 2_500 };
const keptSize: Size = { launches: 16, ms: 2_500 };

const backends = ['stateless', 'durable'] as const satisfies readonly Backend[];

/** As many in flight as in cases 1 and 2. Conversations repeat, so that they have a past. */
const load = { shape: { inFlight: 64 }, conversations: 64, ms: 20_000, keepsLines: true };
const round = { ...load, messages: 64 };
const warming = { ...load, messages: 4_000 };

/** Prints its verdict last. @returns whether svc is worse than the stored figure */
export async function runGate(lab: Lab, { file, machine, keep }: Gate): Promise<boolean> {
  const all = readKept(file);
  const kept = all.find((one) => one.machine === machine);
  const look = async (backend: Backend): Promise<Found> => {
    const launches = await measure(lab, backend, keep ? keptSize : judgedSize);
    if (!keep && kept && isInDoubt(judge(figureOf(launches), kept[backend]))) {
      launches.push(...(await measure(lab, backend, judgedSize)));
    }
    return foundIn(launches);
  };
  const found = { stateless: await look('stateless'), durable: await look('durable') };
  const judged = backends.map((backend) => ({
    backend,
    of: kept === undefined ? null : judge(found[backend].figure, kept[backend]),
  }));
  const rows = judged.map(({ backend, of }) => row(backend, found[backend], kept?.[backend], of));
  console.log(table([head, ...rows]));
  if (keep) {
    const [stateless, durable] = [found.stateless.figure, found.durable.figure];
    const day = new Date().toISOString().slice(0, 10);
    const now: Kept = { machine, node: process.versions.node, day, stateless, durable };
    writeKept(file, [...all.filter((one) => one !== kept), now]);
    const isBlunt = [stateless, durable].some((one) => judge(one, one).kind === 'too-noisy');
    const again = isBlunt ? ' Too noisy to judge by: keep it again when the machine is quiet.' : '';
    console.log(`GATE: kept in ${file}.${again}`);
    return false;
  }
  const named = judged.flatMap(({ backend, of }) => (of === null ? [] : [{ name: backend, of }]));
  console.log(`GATE: ${kept === undefined ? notKept(machine) : verdictOf(named, kept.day)}`);
  return named.some(({ of }) => of.kind === 'worse');
}

function notKept(machine: string): string {
  return `not judged: nothing is kept for ${machine}; \`--gate --keep\` keeps what it is now.`;
}

async function measure(lab: Lab, backend: Backend, size: Size): Promise<Launch[]> {
  const launches: Launch[] = [];
  for (let at = 0; at < size.launches; at++) {
    const [svc, floor] = [await lab.startSubject(backend), await lab.startFloor(backend)];
    lab.keepApart([svc, floor]);
    for (const server of [svc, floor]) await lab.round(server, warming);
    const pairs: Pair[] = [];
    for (const startedAt = performance.now(); performance.now() - startedAt < size.ms;) {
      // The servers alternate in going first, so that a slowing machine changes nothing.
      const isSvcFirst = pairs.length % 2 === 0;
      const first = await lab.round(isSvcFirst ? svc : floor, round);
      const second = await lab.round(isSvcFirst ? floor : svc, round);
      const [ofSvc, ofFloor] = isSvcFirst ? [first, second] : [second, first];
      pairs.push({ svcUs: ofSvc.cpuUs, floorUs: ofFloor.cpuUs });
    }
    launches.push(pairs);
    await lab.stop(svc.pid);
    await lab.stop(floor.pid);
  }
  return launches;
}

function foundIn(launches: readonly Launch[]): Found {
  const pairs = launches.flat();
  return {
    figure: figureOf(launches),
    svcUs: median(pairs.map(({ svcUs }) => svcUs)),
    floorUs: median(pairs.map(({ floorUs }) => floorUs)),
  };
}

function readKept(file: string): readonly Kept[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Kept[]) : [];
}

/** Rounds to the measured digits: more would only make two files differ. */
function writeKept(file: string, all: readonly Kept[]): void {
  const short = (_name: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value;
  writeFileSync(file, `${JSON.stringify(all, short, 2)}\n`);
}

const head = ['CPU a message', 'svc', 'floor', 'ratio', 'kept', 'change', 'chance', 'verdict'];

function row(backend: Backend, found: Found, kept: Figure | undefined, judged: Judged | null) {
  const said = [
    `${figure(found.svcUs)} µs`,
    `${figure(found.floorUs)} µs`,
    sayFigure(found.figure),
  ];
  if (kept === undefined || judged === null) return [backend, ...said, '–', '–', '–', 'not judged'];
  const { change, chance, kind } = judged;
  return [backend, ...said, sayFigure(kept), percent(change), percent(chance), sentences[kind]];
}

const sentences = {
  within: 'as it was',
  worse: 'WORSE',
  better: 'better',
  'too-noisy': 'too noisy to tell',
} satisfies Record<Judged['kind'], string>;

function sayFigure({ ratio, noise }: Figure): string {
  return `${figure(ratio)} ± ${percent(noise)}`;
}
