/**
 * `node scripts/node.js bench/prove-gate.ts`: tests the gate itself. It stores the cost of a copy
 * of this build, and makes another copy that costs a tenth more. Then it runs the gate over both in
 * turns. The gate should never find the first one worse, and nearly always the second. Takes about
 * half an hour on a quiet machine. `--times N`: runs of each (10); `--under CMD`: a command that
 * runs each of them, such as `flock FILE`.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { figure } from './stats.ts';

const { values } = parseArgs({
  options: { times: { type: 'string', default: '10' }, under: { type: 'string', default: '' } },
});
const root = join(import.meta.dirname, '..');
mkdirSync(join(root, '.tmp'), { recursive: true });
using scratch = mkdtempDisposableSync(join(root, '.tmp/prove-gate-'));
const plain = copyTo('plain');
const planted = copyTo('planted');
const program = readFileSync(join(plain, 'dist/main.js'), 'utf8');

/** Enough for a good measurement. */
const trialTurns = 2_500;
const budget = join(scratch.path, 'budget.json');
const before = keep(plain, budget);
plant(trialTurns);
const after = keep(planted, join(scratch.path, 'trial.json'));
const grown = (after.stateless / before.stateless + after.durable / before.durable) / 2 - 1;
const turns = Math.round((trialTurns * 0.1) / grown);
plant(turns);
console.log(`${trialTurns} turns cost ${figure(100 * grown)} %, so ${turns} are planted`);

const found = { plain: 0, planted: 0 };
const times = Number(values.times);
for (let at = 1; at <= times; at++) {
  for (const [name, folder] of Object.entries({ plain, planted })) {
    const { status, said } = gate(folder, ['--budget', budget]);
    if (status !== 0) found[name as keyof typeof found]++;
    console.log(`${at} ${name}: ${said}`);
  }
}
console.log(`unchanged: ${found.plain} of ${times} found worse; planted: ${found.planted}`);

/** Copies the build without the sources, so that it runs even when they are newer. */
function copyTo(name: string): string {
  const folder = join(scratch.path, name);
  for (const part of ['bench', 'bin', 'dist', 'scripts', 'package.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  for (const part of ['node_modules', 'docs', 'web'])
    symlinkSync(join(root, part), join(folder, part));
  return folder;
}

/** Adds work to every JSON.parse: every message needs some on its way through svc. */
function plant(count: number): void {
  const work = `let planted = 1;
    const parse = JSON.parse;
    JSON.parse = (...given) => {
      for (let at = 0; at < ${count}; at++) planted = (planted * 48271) % 2147483647;
      return parse(...given);
    };`;
  writeFileSync(join(planted, 'dist/main.js'), `{${work}}\n${program}`);
}

function keep(folder: string, file: string): { stateless: number; durable: number } {
  gate(folder, ['--keep', '--budget', file]);
  const [kept] = JSON.parse(readFileSync(file, 'utf8'));
  return { stateless: kept.stateless.ratio, durable: kept.durable.ratio };
}

/** `said`: the last line of its output. */
function gate(folder: string, options: readonly string[]) {
  const command = [process.execPath, join(folder, 'bench/run.ts'), '--gate', ...options];
  const [first, ...rest] = [...values.under.split(' ').filter(Boolean), ...command];
  const { status, stdout } = spawnSync(first!, rest, { encoding: 'utf8', stdio: [0, 'pipe', 2] });
  if (!stdout.includes('GATE: ')) throw new Error(`The gate did not run in ${folder}:\n${stdout}`);
  return { status, said: stdout.trimEnd().split('\n').at(-1) ?? '' };
}
