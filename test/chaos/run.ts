/**
 * `npm run chaos`: every proof of proofs.ts, three at a time, at the size for every change.
 * Options: `--nightly` or `--size change|nightly` (the largest, one at a time), `--only name,…`,
 * `--seed n`, `--write` (writes what was found into docs/how-it-works/reliability.md). Ends with 1
 * when a promise did not hold. A proof that cannot run here is skipped, and says so.
 */
import { parseArgs } from 'node:util';
import { runApart } from './apart.ts';
import type { Proof, Size } from './proof.ts';
import { proofs } from './proofs.ts';
import { summaryOf, tableOf, writeReport } from './report.ts';
import { runProofs, type Order } from './runner.ts';

const { values } = parseArgs({
  options: {
    nightly: { type: 'boolean', default: false },
    size: { type: 'string', default: 'change' },
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    write: { type: 'boolean', default: false },
  },
});

const order: Order = { size: sizeOf(values.nightly ? 'nightly' : values.size), seed: seedOf() };
// The largest size judges times, so nothing runs beside a proof; the others mostly wait.
const atOnce = order.size === 'nightly' ? 1 : 3;
const ways = { atOnce, run: runApart };
const findings = await runProofs(chosen(values.only), order, console.log, ways);
console.log(`\n${tableOf(findings)}\n`);
if (values.write) writeReport(findings);
console.log(summaryOf(findings));
if (findings.some(({ result }) => result.kind === 'failed')) process.exitCode = 1;

function sizeOf(text: string): Size {
  if (text === 'change' || text === 'nightly') return text;
  throw new Error(`--size is "${text}"; write change or nightly.`);
}

function seedOf(): number {
  const seed = Number(values.seed);
  if (Number.isSafeInteger(seed) && values.seed !== '') return seed;
  throw new Error(`--seed is "${values.seed}"; write a whole number.`);
}

function chosen(names: string): readonly Proof[] {
  const atSize = (proof: Proof): boolean => proof.sizes[order.size] > 0;
  if (names === '') return proofs.filter(atSize);
  return names.split(',').map((name) => {
    const proof = proofs.find((one) => one.name === name);
    if (proof !== undefined && atSize(proof)) return proof;
    if (proof !== undefined) throw new Error(`${name} has nothing to do at --size ${order.size}.`);
    const known = proofs.map((one) => one.name).join(', ');
    throw new Error(`--only names "${name}"; there are ${known}.`);
  });
}
