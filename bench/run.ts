/**
 * `npm run bench`: measures the speed of svc on this machine, as ratios to floors of the same run.
 * Options: `--quick` (about two minutes), `--case N` (only that one; repeatable), `--profile` (CPU
 * time of the servers by function; the ratios are then meaningless). Ends with 0 unless something
 * failed to run.
 *
 * `--gate` (half a minute) ends with 1 when a message costs more CPU than the stored figure for
 * this kind of machine. That figure is in `bench/budget.json`, or in the file of `--budget`.
 * `--gate --keep` (over a minute) stores the present cost.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cases, head, paces, type Row } from './cases.ts';
import { runGate } from './gate.ts';
import { isBuilt, Lab, subjectName } from './lab.ts';
import { profileOf } from './profile.ts';
import { figure, median, table } from './stats.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    case: { type: 'string', multiple: true, default: [] },
    profile: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    budget: { type: 'string', default: join(import.meta.dirname, 'budget.json') },
  },
});

const wanted = values.case.length > 0 ? values.case.map(Number) : [...cases.keys()];
for (const number of wanted) {
  if (!cases.has(number)) throw new Error(`There is no case ${number}, only 1 to ${cases.size}.`);
}

await using lab = await Lab.open(values.profile);
const now = `${new Date().toISOString().slice(0, 16)}Z`;
const fsync = `one fsync ${figure(fsyncMs())} ms`;
console.log(`${now}, Node ${process.versions.node}, ${machine()}, ${fsync}`);
console.log(`measured: ${subjectName()}`);
if (values.gate) {
  if (!isBuilt()) throw new Error('The gate measures a build: run `npm run build` before.');
  const { budget: file, keep } = values;
  if (await runGate(lab, { file, machine: machine(), keep })) process.exitCode = 1;
} else await runCases();

async function runCases(): Promise<void> {
  const rows: Row[] = [];
  for (const number of wanted) {
    process.stderr.write(`case ${number} …\n`);
    try {
      rows.push(...(await cases.get(number)!(lab, values.quick ? paces.quick : paces.full)));
    } catch (error) {
      console.error(error);
      rows.push([String(number), 'did not run', '', '', '', '', 'failed']);
      process.exitCode = 1;
    }
  }
  console.log(table([head, ...rows]));
  if (values.profile) console.log(`\n${profileOf(lab.folder, 25)}`);
}

function machine(): string {
  return `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})`;
}

/** A disk that answers at once makes nothing durable, and the durable figures meaningless. */
function fsyncMs(): number {
  const file = openSync(join(lab.folder, 'fsync'), 'w');
  const times = Array.from({ length: 50 }, () => {
    const startedAt = performance.now();
    writeSync(file, Buffer.alloc(4096));
    fdatasyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  return median(times);
}
