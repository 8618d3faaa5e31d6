/** The cases of the benchmark. Each starts its own servers, and compares them round by round. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Backend, Lab, Load } from './lab.ts';
import { type Measured, medianOf, ratioOf } from './record.ts';
import { figure, type Goal, median, percentile, verdict } from './stats.ts';

/** `head` names the columns of a row. */
export type Row = readonly [string, string, string, string, string, string, string];
export const head: Row = ['case', 'measured', 'svc', 'floor', 'ratio', 'goal', 'verdict'];

export type Pace = {
  readonly warmMs: number;
  readonly roundMs: number;
  readonly rounds: number;
  /** A slow model has waves in place of rounds. */
  readonly waves: number;
};
export const paces = {
  quick: { warmMs: 600, roundMs: 500, rounds: 5, waves: 3 },
  full: { warmMs: 4_000, roundMs: 1_000, rounds: 11, waves: 15 },
} satisfies Record<string, Pace>;

type Case = (lab: Lab, pace: Pace) => Promise<readonly Row[]>;

/** Medians over the rounds of each server, and over the ratios of neighbouring rounds. */
type Compared = { readonly svc: Measured; readonly floor: Measured; readonly ratio: Measured };

export const cases: ReadonlyMap<number, Case> = new Map([
  [1, (lab, pace) => throughput(lab, pace, 1, 'stateless', { atLeast: 0.9 })],
  [2, (lab, pace) => throughput(lab, pace, 2, 'durable', { atLeast: 0.8 })],
  [3, slowModel],
  [4, addedLatency],
  [5, hungModel],
  [6, boot],
  [7, idleMemory],
  [8, agentSteps],
  [9, manyInFlight],
  [10, firstSight],
  [11, promptReuse],
  [12, addedToStreams],
] satisfies (readonly [number, Case])[]);

async function throughput(
  lab: Lab,
  pace: Pace,
  number: number,
  backend: Backend,
  goal: Goal,
): Promise<Row[]> {
  const load = { shape: { inFlight: 64 }, conversations: 1_000, ms: pace.roundMs };
  const { svc, floor, ratio } = await compare(lab, pace, backend, load);
  const name = `${backend}, 64 in flight, model 0 ms`;
  const cpu = ` (${figure(ratio.cpuUs, 2)} of the floor's)`;
  const said = [`${sayThroughput(svc)}${cpu}`, sayThroughput(floor)] as const;
  return [row(number, name, ...said, ratio.perSecond, ratio.perSecond, goal)];
}

function sayThroughput(m: Measured): string {
  const times = `p50 ${figure(m.p50Ms)} p99 ${figure(m.p99Ms)} ms`;
  return `${figure(m.perSecond)}/s, ${times}, ${figure(m.cpuUs)} µs CPU${faultsOf(m)}`;
}

/** A wave is a round. It needs little of the machine, so only the connections need warming up. */
async function slowModel(lab: Lab, pace: Pace): Promise<Row[]> {
  const shape = { inFlight: 500 };
  const load = { shape, conversations: 500, ms: 20_000, messages: 500, keepsLines: true };
  const some = { ...pace, warmMs: 500, rounds: pace.waves };
  const rows: Row[] = [];
  for (const backend of ['stateless', 'durable'] as const) {
    const { svc, floor, ratio } = await compare(lab, some, backend, load, 500);
    const name = `${backend}, 500 at once, model 500 ms`;
    const said = [sayReplies(svc), sayReplies(floor)] as const;
    rows.push(row(3, name, ...said, ratio.perSecond, ratio.perSecond, { atLeast: 0.97 }));
  }
  return rows;
}

function sayReplies(m: Measured): string {
  return `${figure(m.perSecond)} replies/s${faultsOf(m)}`;
}

async function addedLatency(lab: Lab, pace: Pace): Promise<Row[]> {
  const load = { shape: { perSecond: 300 }, conversations: 1_000, ms: 2 * pace.roundMs };
  const fewer = { ...pace, rounds: Math.floor(pace.rounds / 3) };
  const rows: Row[] = [];
  for (const backend of ['stateless', 'durable'] as const) {
    const { svc, floor, ratio } = await compare(lab, fewer, backend, load);
    const name = `${backend}, 300/s: from the 200 to the model, p99`;
    const said = [sayAdded(svc), sayAdded(floor)] as const;
    rows.push(row(4, name, ...said, ratio.addedP99Ms, svc.addedP99Ms, { atMost: 10 }));
  }
  return rows;
}

function sayAdded(m: Measured): string {
  const whole = `p50 ${figure(m.p50Ms)} p99 ${figure(m.p99Ms)} ms`;
  return `${figure(m.addedP99Ms)} ms; message to reply ${whole}${faultsOf(m)}`;
}

/**
 * Since a channel routes to one brain, one model serves all conversations. It never answers some of
 * them; the case watches the others before and during that.
 */
async function hungModel(lab: Lab, pace: Pace): Promise<Row[]> {
  const live = { shape: { perSecond: 300 }, conversations: 100, ms: 2 * pace.roundMs };
  const hung = { shape: { inFlight: hungMost }, messages: hungMost, conversations: hungMost };
  const delays: number[] = [];
  const said: string[] = [];
  for (const server of [await lab.startSubject('stateless'), await lab.startFloor('stateless')]) {
    await lab.round(server, { ...live, ms: pace.warmMs });
    const before = await lab.round(server, live);
    await lab.round(server, { ...hung, ms: 10_000, hang: true });
    const during = await lab.round(server, live);
    lab.orderModel({ letGo: true });
    await lab.stop(server.pid);
    delays.push(during.p99Ms - before.p99Ms);
    const faults = faultsOf(during);
    said.push(`p99 ${figure(before.p99Ms)} → ${figure(during.p99Ms)} ms${faults}`);
  }
  const name = `stateless, ${hungMost} conversations hang: delay of live ones, same channel`;
  const [svc, floor] = said as [string, string];
  return [row(5, name, svc, floor, Number.NaN, Math.max(0, delays[0]!), { atMost: 50 })];
}
/** Fewer than a channel's slots, since the live conversations share them. */
const hungMost = 900;

/** With storage, a small database exists already, as at every start but the first. */
async function boot(lab: Lab, pace: Pace): Promise<Row[]> {
  const database = join(lab.folder, 'small.db');
  // The first starts also compile the code for the others.
  for (const backend of ['durable', 'stateless'] as const) {
    const server = await lab.startSubject(backend, { database });
    const some = { shape: { inFlight: 64 }, conversations: 50, ms: 5_000, messages: 1_000 };
    await lab.round(server, some);
    await lab.stop(server.pid);
  }
  const bareMs: number[] = [];
  const bootMs = { stateless: [] as number[], durable: [] as number[] };
  for (let at = 0; at < 2 * pace.rounds; at++) {
    const startedAt = performance.now();
    spawnSync(process.execPath, ['-e', '0']);
    bareMs.push(performance.now() - startedAt);
    for (const backend of ['stateless', 'durable'] as const) {
      const server = await lab.startSubject(backend, { database });
      bootMs[backend].push(server.ms);
      await lab.stop(server.pid);
    }
  }
  const bare = `${figure(median(bareMs))} ms (node -e 0)`;
  const rowOf = (backend: Backend, goal: Goal): Row => {
    const ratio = median(bootMs[backend].map((ms, at) => ms / bareMs[at]!));
    const svc = `${figure(median(bootMs[backend]))} ms`;
    return row(6, `${backend}, start to listening`, svc, bare, ratio, ratio, goal);
  };
  return [rowOf('stateless', { atMost: 2.5 }), rowOf('durable', { atMost: 3.5 })];
}

async function idleMemory(lab: Lab, pace: Pace): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [backend, atMost] of [
    ['stateless', 65],
    ['durable', 82],
  ] as const) {
    const servers = [await lab.startFloor(backend)];
    for (let at = 0; at < 3; at++) servers.push(await lab.startSubject(backend));
    await new Promise((resolve) => setTimeout(resolve, pace.warmMs));
    const [floor, ...each] = servers.map(({ pid }) => residentMb(pid)) as [number, ...number[]];
    for (const { pid } of servers) await lab.stop(pid);
    const svc = median(each);
    const said = [`${figure(svc)} MB`, `${figure(floor)} MB`] as const;
    rows.push(row(7, `${backend}, resident memory, idle`, ...said, svc / floor, svc, { atMost }));
  }
  return rows;
}

/** The resident memory in megabytes: VmRSS of proc_pid_status(5). */
function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** Fills a channel's slots at a thousand messages a second, so the cost includes waking up. */
async function manyInFlight(lab: Lab, pace: Pace): Promise<Row[]> {
  const both = { conversations: 1_000, keepsLines: true };
  const few = { ...both, shape: { inFlight: 64 }, ms: pace.roundMs };
  const many = { ...both, shape: { inFlight: 1_000 }, ms: 20_000, messages: 1_000 };
  const ratios: number[] = [];
  const said: string[] = [];
  for (const server of [await lab.startSubject('stateless'), await lab.startFloor('stateless')]) {
    await lab.round(server, { ...few, ms: pace.warmMs });
    const rounds: (readonly [many: Measured, few: Measured, ratio: number])[] = [];
    // The first wave opens the connections for the others.
    for (let at = 0; at <= Math.floor(pace.waves / 2); at++) {
      const ofFew = await lab.round(server, few);
      lab.orderModel({ delayMs: 1_000 });
      const ofMany = await lab.round(server, many);
      lab.orderModel({ delayMs: 0 });
      if (at > 0) rounds.push([ofMany, ofFew, ofMany.cpuUs / ofFew.cpuUs]);
    }
    await lab.stop(server.pid);
    const ratio = median(rounds.map(([, , one]) => one));
    const [atMany, atFew] = [0, 1].map((of) => medianOf(rounds.map((one) => one[of as 0 | 1])));
    const cpu = `${figure(atMany!.cpuUs)} of ${figure(atFew!.cpuUs)} µs, ${figure(ratio, 2)}`;
    ratios.push(ratio);
    said.push(`${cpu}${faultsOf(atMany!)}`);
  }
  const name = 'stateless, CPU a message at 1,000 in flight (model 1 s) of that at 64';
  const [svc, floor] = said as [string, string];
  return [row(9, name, svc, floor, ratios[0]!, ratios[0]!, { atMost: 1.3 })];
}

/** Model and tool take no time, so the time between two calls belongs to the agent. */
async function agentSteps(lab: Lab, pace: Pace): Promise<Row[]> {
  const load = { shape: { perSecond: 40 }, conversations: 1_000, ms: 4 * pace.roundMs };
  // Imported here, so that a folder with a build but no sources can run the other cases.
  const { loopGapsMs } = await import('./agent-loop.ts');
  const loopMs = await loopGapsMs(pace.roundMs);
  const [loopP50, loopP99] = [percentile(loopMs, 50), percentile(loopMs, 99)];
  const loop = `p50 ${figure(loopP50)} p99 ${figure(loopP99)} ms of ${loopMs.length} steps`;
  const agent = { tools: ['echo'], max_iterations: 50 };
  const rows = [row(8, "an agent's step, the loop alone", loop, '', Number.NaN, loopP99, stepGoal)];
  for (const backend of ['stateless', 'durable'] as const) {
    const server = await lab.startSubject(backend, { agent });
    await lab.round(server, { ...load, ms: pace.warmMs });
    await lab.agentGaps();
    const measured = await lab.round(server, load);
    const gapsMs = (await lab.agentGaps()).map((us) => us / 1_000);
    await lab.stop(server.pid);
    const [p50, p99] = [percentile(gapsMs, 50), percentile(gapsMs, 99)];
    const cpu = `${figure(measured.cpuUs / 5)} µs CPU each${faultsOf(measured)}`;
    const said = `p50 ${figure(p50)} p99 ${figure(p99)} ms of ${gapsMs.length} steps, ${cpu}`;
    const name = `${backend}, 40 turns/s of 5 steps: a step, wire and all`;
    rows.push(row(8, name, said, '', Number.NaN, p99, stepGoal));
  }
  return rows;
}

const stepGoal = { atMost: 5 };

/** The share of each prompt that begins the next one, which a model's prompt cache can use. */
async function promptReuse(): Promise<Row[]> {
  // Imported here, as above.
  const { meanShare, promptsOf, talks } = await import('../test/support/prompt-reuse.ts');
  const rows: Row[] = [];
  for (const [name, talk] of Object.entries(talks)) {
    const { first, all } = await promptsOf(talk);
    const share = meanShare(first);
    const ofAll = figure(meanShare(all));
    const said = `mean ${figure(share)} over ${first.length} turns; of all calls ${ofAll}`;
    const what = `prompts of ${name}: the part that begins the next one`;
    rows.push(row(11, what, said, '', Number.NaN, share, { atLeast: 0.95 }));
  }
  return rows;
}

/** Streams tokens to a platform with limits: the delay that svc adds until the person sees text. */
async function firstSight(lab: Lab, pace: Pace): Promise<Row[]> {
  // Imported here, as above.
  const { firstSights } = await import('./first-sight.ts');
  const ms = 2_000 * pace.rounds;
  const rows: Row[] = [];
  for (const [name, scene] of [
    ['drafts', { ms, together: false, drafts: true }],
    ['drafts, all in one moment', { ms, together: true, drafts: true }],
    ['edits', { ms, together: false, drafts: false }],
  ] as const) {
    const { fromTokenMs, fromCharactersMs, refused } = await firstSights(lab, scene);
    const [p50, p99] = [percentile(fromCharactersMs, 50), percentile(fromCharactersMs, 99)];
    const token = `first token p50 ${figure(percentile(fromTokenMs, 50))}`;
    const all = `${token} p99 ${figure(percentile(fromTokenMs, 99))} ms`;
    const answers = `${fromCharactersMs.length} answers, ${refused} calls refused`;
    const said = `p50 ${figure(p50)} p99 ${figure(p99)} ms; ${all}; ${answers}`;
    const what = `50 growing replies by ${name}: 40 characters to Telegram, p99`;
    rows.push(row(10, what, said, '', Number.NaN, p99, { atMost: 30 }));
  }
  return rows;
}

/** The floor is the model itself, asked by the same client in turns with svc. */
async function addedToStreams(lab: Lab, pace: Pace): Promise<Row[]> {
  // Imported here, as above.
  const { streamWaves } = await import('./streams.ts');
  const rows: Row[] = [];
  for (const backend of ['stateless', 'durable'] as const) {
    const waves = await streamWaves(lab, backend, Math.ceil(pace.rounds / 3));
    const { directMs, svcMs, addedMs, together, faults } = waves;
    const [p50, p99] = [percentile(addedMs, 50), percentile(addedMs, 99)];
    const added = `adds p50 ${figure(p50)} p99 ${figure(p99)} ms, ${together} open`;
    const failed = faults > 0 ? `, ${faults} failed` : '';
    const ratio = percentile(svcMs, 99) / percentile(directMs, 99);
    const said = [`${added}${failed}; ${sayFirst(svcMs)}`, sayFirst(directMs)] as const;
    const name = `${backend}, 200 streams: what the API adds to the first token, p99`;
    rows.push(row(12, name, ...said, ratio, p99, { atMost: 30 }));
  }
  return rows;
}

function sayFirst(ms: readonly number[]): string {
  return `first token p50 ${figure(percentile(ms, 50))} p99 ${figure(percentile(ms, 99))} ms`;
}

/** Compares the two servers side by side: they take turns, so one is always idle. */
async function compare(lab: Lab, pace: Pace, backend: Backend, load: Load, delayMs = 0) {
  const [svc, floor] = [await lab.startSubject(backend), await lab.startFloor(backend)];
  const warm = { shape: { inFlight: 64 }, conversations: 1_000, ms: pace.warmMs };
  for (const server of [svc, floor]) await lab.round(server, warm);
  lab.orderModel({ delayMs });
  // Opening the connections of the first wave is not part of a wave.
  if (delayMs > 0) for (const server of [svc, floor]) await lab.round(server, { ...load, ms: 1 });
  const rounds: Compared[] = [];
  for (let at = 0; at < pace.rounds; at++) {
    const measured = { svc: await lab.round(svc, load), floor: await lab.round(floor, load) };
    rounds.push({ ...measured, ratio: ratioOf(measured.svc, measured.floor) });
  }
  lab.orderModel({ delayMs: 0 });
  await lab.stop(svc.pid);
  await lab.stop(floor.pid);
  return {
    svc: medianOf(rounds.map((round) => round.svc)),
    floor: medianOf(rounds.map((round) => round.floor)),
    ratio: medianOf(rounds.map((round) => round.ratio)),
  } satisfies Compared;
}

/** Names the failures of a typical round; empty when there are none. */
function faultsOf(m: Measured): string {
  const kinds = ['refused', 'failed', 'lost', 'repeated'] as const;
  return kinds.flatMap((kind) => (m[kind] > 0 ? [`, ${m[kind]} ${kind}`] : [])).join('');
}

function row(
  number: number,
  name: string,
  svc: string,
  floor: string,
  ratio: number,
  value: number,
  goal: Goal,
): Row {
  const wanted = 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
  return [String(number), name, svc, floor, figure(ratio, 2), wanted, verdict(value, goal)];
}
