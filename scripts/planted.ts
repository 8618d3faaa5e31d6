/**
 * `npm run planted`: plants each fault of test/planted/ into a copy of the tree, one at a time, and
 * prints which test turns red first. Ends with 1 when no test sees some fault. Options: `--only
 * "words"` (in the name, the room or the file), `--near` (only tests near the fault; otherwise all
 * others follow), `--jobs n` (copies at once; 2), `--out file` (the table as TSV), `--silence
 * seconds` (the longest time without a result; 300).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { rooms } from '../test/planted/rooms.ts';
import { Copy } from './planted/copy.ts';
import { Hunt, type Found, type Planting } from './planted/hunt.ts';

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    near: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
    out: { type: 'string' },
    silence: { type: 'string', default: '300' },
  },
});

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

const chosen = plantings(values.only);
const found = await huntAll(chosen, count('jobs', values.jobs));
process.exitCode = conclude(found);

function plantings(only: string): readonly Planting[] {
  const words = only.toLowerCase().split(/\s+/);
  const all = Object.entries(rooms).flatMap(([room, faults]) =>
    faults.map((fault) => ({ room, fault })),
  );
  const wanted = all.filter(({ room, fault: { name, file } }) => {
    const text = `${room} ${name} ${file}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  if (wanted.length === 0) throw new Error(`No fault has "${only}" in its name, room or file.`);
  return wanted;
}

function count(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name} is "${text}"; write a whole number.`);
}

async function huntAll(wanted: readonly Planting[], jobs: number): Promise<readonly Found[]> {
  const hunt = new Hunt(root, {
    nearOnly: values.near,
    silenceMsMax: count('silence', values.silence) * 1_000,
    stop: stopping.signal,
    say: (line) => console.log(line),
  });
  const queue = wanted.values();
  const results: Found[] = [];
  const work = async (): Promise<void> => {
    using copy = new Copy(root);
    for (const planting of queue) {
      const one = await hunt.find(copy, planting);
      if (stopping.signal.aborted) return;
      results.push(one);
      if (values.out !== undefined) writeFileSync(values.out, tableOf(results));
      console.log(`${results.length}/${wanted.length} ${lineOf(one)}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, wanted.length) }, work));
  return results;
}

function lineOf({ room, fault, seen, seconds }: Found): string {
  const head = `${room}: ${fault.name} (${seconds.toFixed(1)} s)`;
  if (seen.kind === 'green') return `✗ ${head}\n    no test sees it`;
  return `✓ ${head}\n    ${seen.kind === 'hang' ? 'hang in ' : ''}${seen.file} › ${seen.test}`;
}

function tableOf(all: readonly Found[]): string {
  const order = new Map(chosen.map(({ fault }, at) => [fault, at]));
  const rows = all
    .toSorted((a, b) => order.get(a.fault)! - order.get(b.fault)!)
    .map(({ room, fault: { name, file }, seen, seconds }) => {
      const [by, test] = seen.kind === 'green' ? ['', ''] : [seen.file, seen.test];
      const how = seen.kind === 'green' ? 'unseen' : seen.kind;
      return [room, name, file, how, by, test, seconds.toFixed(1)].join('\t');
    });
  return ['room\tfault\tfile\thow\ttest file\ttest\tseconds', ...rows, ''].join('\n');
}

/** @returns the exit code */
function conclude(all: readonly Found[]): number {
  if (stopping.signal.aborted) {
    console.log('\nStopped before the end.');
    return 1;
  }
  const unseen = all.filter(({ seen }) => seen.kind === 'green');
  console.log(`\n${all.length} faults, ${all.length - unseen.length} of them seen.`);
  if (unseen.length === 0) return 0;
  console.log(`No test sees these:\n${unseen.map(({ fault }) => `  ${fault.name}`).join('\n')}`);
  return 1;
}
