/** Runs proofs, some at a time, and reports the result of each. */
import { inspect } from 'node:util';
import { patienceMs } from '../support/waiting.ts';
import type { Proof, Proved, Size } from './proof.ts';

export type Order = { readonly size: Size; readonly seed: number };
export type Failed = { readonly kind: 'failed'; readonly why: string };

export type Finding = Order & {
  readonly name: string;
  readonly title: string;
  /** `50 kills`. */
  readonly amount: string;
  readonly seconds: number;
  readonly result: Proved | Failed;
};

/** A proof that takes longer has failed. */
const limitMs: Readonly<Record<Size, number>> = {
  change: 15 * patienceMs,
  nightly: 180 * patienceMs,
};
/** Between two lines of progress. */
const progressMs = 10_000;

/** Runs one proof, and reports its progress. */
export type RunProof = (proof: Proof, order: Order, say: Say) => Promise<Finding>;
export type Say = (line: string) => void;

/**
 * @param atOnce how many run at a time
 * @returns one finding each, in the order of the proofs
 */
export async function runProofs(
  proofs: readonly Proof[],
  order: Order,
  say: Say,
  { atOnce = 1, run = runProof }: { readonly atOnce?: number; readonly run?: RunProof } = {},
): Promise<readonly Finding[]> {
  const findings = new Map<Proof, Finding>();
  const waiting = [...proofs];
  const running = new Set<string>();
  const startedAt = performance.now();
  const tell = (): void => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const over = `${findings.size} of ${proofs.length} are over`;
    say(`${seconds} s: ${over}, under way: ${[...running].join(', ')}`);
  };
  const queue = async (): Promise<void> => {
    for (let proof = waiting.shift(); proof !== undefined; proof = waiting.shift()) {
      say(`${proof.name}: ${amountOf(proof, order)}, seed ${order.seed}`);
      running.add(proof.name);
      const finding = await run(proof, order, say);
      running.delete(proof.name);
      findings.set(proof, finding);
      say(outcomeLine(finding));
    }
  };
  const telling = setInterval(tell, progressMs);
  try {
    await Promise.all(Array.from({ length: atOnce }, queue));
  } finally {
    clearInterval(telling);
  }
  return proofs.map((proof) => findings.get(proof)!);
}

export const runProof: RunProof = async (proof, order, say) => {
  const count = proof.sizes[order.size];
  const startedAt = performance.now();
  const result = await within(limitMs[order.size], () =>
    proof.run(count, order.seed, (line) => say(`${proof.name}: ${line}`)),
  );
  return findingOf(proof, order, (performance.now() - startedAt) / 1_000, result);
};

export function findingOf(
  proof: Proof,
  order: Order,
  seconds: number,
  result: Finding['result'],
): Finding {
  const { name, title } = proof;
  return { ...order, name, title, amount: amountOf(proof, order), seconds, result };
}

function amountOf({ sizes, unit }: Proof, { size }: Order): string {
  return `${sizes[size].toLocaleString('en-US')} ${unit}`;
}

async function within(ms: number, run: () => Promise<Proved>): Promise<Proved | Failed> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Failed>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'failed', why: `not over after ${ms} ms` }), ms);
  });
  try {
    return await Promise.race([run(), late]);
  } catch (error) {
    return { kind: 'failed', why: error instanceof Error ? error.message : inspect(error) };
  } finally {
    clearTimeout(timer);
  }
}

function outcomeLine({ name, size, seed, result, seconds }: Finding): string {
  const took = `${seconds.toFixed(1)} s`;
  switch (result.kind) {
    case 'proved':
      return `${name}: ok in ${took} (${figuresText(result.figures)})`;
    case 'skipped':
      return `${name}: SKIPPED: ${result.why}`;
    case 'failed': {
      const again = `npm run chaos -- --only ${name} --seed ${seed} --size ${size}`;
      return `${name}: FAILED after ${took}: ${result.why}\n${name}: again with: ${again}`;
    }
    default:
      return result satisfies never;
  }
}

/** `0 lost, 812 repeats`. */
export function figuresText(figures: Readonly<Record<string, number | string>>): string {
  return Object.entries(figures)
    .map(([what, value]) => `${value.toLocaleString('en-US')} ${what}`)
    .join(', ');
}
