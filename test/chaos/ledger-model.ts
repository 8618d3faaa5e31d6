/**
 * Compares the ledger with a simple reference: a walk takes random steps on both, and both must
 * agree after each step. It must also notice every bug planted around the ledger.
 */
import assert from 'node:assert/strict';
import { noPostgres, testServer } from '../fake/postgres.ts';
import { harmless, plantedBugs, type PlantedBug } from './planted-bugs.ts';
import { seeded, type Proof, type Proved } from './proof.ts';
import { Reference } from './ledger/reference.ts';
import { shortest } from './ledger/shorten.ts';
import { stepsOf, type Step } from './ledger/steps.ts';
import { Walk } from './ledger/walk.ts';
import {
  openWorld,
  sound,
  withStoppedTimers,
  type BackendName,
  type Plant,
} from './ledger/worlds.ts';

const backends: readonly BackendName[] =
  noPostgres === false ? ['memory', 'sqlite', 'postgres'] : ['memory', 'sqlite'];
/** The share of the steps that each backend takes. */
const shares = {
  some: { memory: 1, sqlite: 1, postgres: 0.4 },
  many: { memory: 0.8, sqlite: 0.15, postgres: 0.05 },
} as const;
const names = { memory: 'memory', sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;
const stepsOfWalk = 1_000;
/** A planted bug must be noticed within this many steps; the slowest takes 500 on average. */
const bugSteps = 10_000;
/** From this count on the backends share the steps: most of them go to the fastest one. */
const sharedFrom = 100_000;
/** The report shows at most this many of the last steps. */
const linesMax = 60;
const dayMs = 86_400_000;

export const ledgerModel: Proof = {
  name: 'ledger-model',
  title: 'The ledger against a reference of plain arrays',
  unit: 'steps',
  sizes: { change: 3_500, nightly: 1_000_000 },
  async run(count, seed, say) {
    // A start of the server takes real time.
    if (noPostgres === false) await testServer();
    return withStoppedTimers(() => prove(count, seed, say));
  },
};

async function prove(count: number, seed: number, say: (line: string) => void): Promise<Proved> {
  const figures: Record<string, number | string> = {};
  for (const backend of backends) {
    const share = shares[count < sharedFrom ? 'some' : 'many'][backend];
    const { steps, crashes } = await walkOn(backend, Math.round(count * share), seed, say);
    figures[`steps ${backend === 'memory' ? 'in' : 'on'} ${names[backend]}`] = steps;
    if (backend !== 'memory') figures[`crashes of ${names[backend]}`] = crashes;
  }
  let noticed = 0;
  for (const backend of backends) {
    const start = { backend, seed, plant: harmless };
    assert.equal(
      (await walkThrough(start, stepsFor(start, 300))).fault,
      null,
      'no bug, none noticed',
    );
  }
  for (const bug of plantedBugs) {
    const after = await stepsToNotice(bug, seed);
    assert.ok(after !== null, `planted bug not noticed in ${bugSteps} steps: ${bug.name}`);
    noticed++;
    say(`noticed after ${after} steps: ${bug.name}`);
  }
  figures['planted bugs noticed'] = `${noticed} of ${plantedBugs.length}`;
  return { kind: 'proved', figures };
}

type Done = { readonly steps: number; readonly crashes: number };

async function walkOn(
  backend: BackendName,
  count: number,
  seed: number,
  say: (line: string) => void,
): Promise<Done> {
  const done = { steps: 0, crashes: 0 };
  for (let walk = 0; done.steps < count; walk++) {
    const start = { backend, seed: seed + walk, plant: sound };
    const steps = stepsFor(start, Math.min(stepsOfWalk, count - done.steps));
    const end = await walkThrough(start, steps);
    if (end.fault !== null) await fail(start, steps, end);
    done.steps += steps.length;
    done.crashes += end.crashes;
    if (walk % 50 === 49) say(`${backend}: ${done.steps} steps`);
  }
  return done;
}

/** The start of a walk: with its steps it determines everything that happens. */
type Start = { readonly backend: BackendName; readonly seed: number; readonly plant: Plant };

function stepsFor({ backend, seed }: Start, count: number): readonly Step[] {
  return stepsOf(seeded(seed), count, backend !== 'memory');
}

type End = {
  readonly fault: Error | null;
  /** The number of steps that were taken. */
  readonly taken: number;
  readonly crashes: number;
  readonly told: readonly string[];
};

async function walkThrough({ backend, seed, plant }: Start, steps: readonly Step[]): Promise<End> {
  const random = seeded(seed ^ 0x5bd1e995);
  const messagesMax = 30 + Math.floor(random() * 40);
  // A few conversations with much in each, or many that come and go.
  const conversations = random() < 0.8 ? 5 : 3_000;
  await using world = await openWorld({ backend, messagesMax, random, plant });
  const keyMs = (channel: string): number => {
    if (backend === 'memory') return Infinity;
    return (channel.startsWith('messenger_') ? 30 : 7) * dayMs;
  };
  const { durable, now, crashIsolations } = world;
  const model = new Reference({ durable, crashIsolations, messagesMax, keyMs, now });
  const walk = new Walk(world, model, conversations);
  let taken = 0;
  const ended = (fault: Error | null): End => ({
    fault,
    taken,
    crashes: world.crashes,
    told: walk.told,
  });
  try {
    for (const step of steps) {
      taken++;
      await walk.take(step);
    }
    await walk.workOff();
    return ended(null);
  } catch (error) {
    return ended(error as Error);
  }
}

async function fail(start: Start, steps: readonly Step[], first: End): Promise<never> {
  const fails = async (some: readonly Step[]): Promise<boolean> =>
    kindOf((await walkThrough(start, some)).fault) === kindOf(first.fault);
  const few = await shortest(steps.slice(0, first.taken), fails);
  const { fault, told } = await walkThrough(start, few);
  const where = `${start.backend}, seed ${start.seed}, step ${first.taken} of ${steps.length}`;
  const lines = told.slice(-linesMax).join('\n');
  assert.fail(`${where}; ${few.length} steps are enough:\n${lines}\n${fault?.message}`);
}

/** Returns the fault's text without ids and numbers. */
function kindOf(fault: Error | null): string | null {
  return fault === null ? null : fault.message.split('\n')[0]!.replace(/[\d:].*/, '');
}

async function stepsToNotice(bug: PlantedBug, seed: number): Promise<number | null> {
  const backend = bug.durable ? 'sqlite' : 'memory';
  for (let done = 0, walk = 0; done < bugSteps; walk++) {
    const start = { backend, seed: seed + 7_919 * walk, plant: bug.plant() } as const;
    const steps = stepsFor(start, stepsOfWalk);
    const end = await walkThrough(start, steps);
    if (end.fault !== null) return done + end.taken;
    done += steps.length;
  }
  return null;
}
