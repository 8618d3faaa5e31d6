/** Runs proofs one after the other and tells what came of each. */
import { inspect } from 'node:util';
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

/** A proof that is not over by then has failed. */
const limitMs: Readonly<Record<Size, number>> = {
  test: 60_000,
  change: 600_000,
  nightly: 10_800_000,
};

export async function runProofs(
  proofs: readonly Proof[],
  order: Order,
  say: (line: string) => void,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const proof of proofs) {
    const finding = await runProof(proof, order, say);
    say(outcomeLine(finding));
    findings.push(finding);
  }
  return findings;
}

async function runProof(proof: Proof, order: Order, say: (line: string) => void): Promise<Finding> {
  const { name, title, unit, sizes } = proof;
  const count = sizes[order.size];
  const amount = `${count.toLocaleString('en-US')} ${unit}`;
  say(`${name}: ${amount}, seed ${order.seed}`);
  const startedAt = performance.now();
  const result = await within(limitMs[order.size], () =>
    proof.run(count, order.seed, (line) => say(`${name}: ${line}`)),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  return { ...order, name, title, amount, seconds, result };
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
