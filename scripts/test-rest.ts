/**
 * `npm run test:rest`: what `npm run test:all` runs after `npm test`. Runs all stages, two at a
 * time, even when one fails. Shows the output of the earliest running stage at once, and of a later
 * one when its turn comes. Ends with 1 when one failed, after a list of the tests that could not
 * run here.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** Each stage with the command that runs it alone. The order lets the last two end together. */
const stages: readonly (readonly [command: string, args: readonly string[]])[] = [
  ['npm test -- --rest', ['scripts/test.ts', '--rest']],
  ['npm run check', ['scripts/check.ts']],
  ['npm run try-release', ['scripts/try-release.ts']],
  ['npm run chaos', ['test/chaos/run.ts']],
  ['npm run browser', ['scripts/browser.ts']],
];
const stagesAtOnce = 2;

const root = join(import.meta.dirname, '..');
/** The lines by which tests, node:test, proofs and release report an untested item. */
const untested = /^(?:SKIPPED |\s*﹣ |\S+ NOT PROVED|NOT TRIED: )/;
const notes: string[] = [];
const times: string[] = [];

/** Output that is not shown yet. */
type Said = { text: string; isOver: boolean };
/** Stages whose output is not fully shown; the first one's output appears at once. */
const unshown: Said[] = [];

const waiting = [...stages];
const worker = async (): Promise<void> => {
  for (let stage = waiting.shift(); stage !== undefined; stage = waiting.shift()) {
    const [command, args] = stage;
    const said: Said = { text: `\n── ${command}\n`, isOver: false };
    unshown.push(said);
    const startedAt = performance.now();
    const isFine = await run(args, said);
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
    times.push(`${isFine ? '✔' : '✖'} ${command} (${seconds} s)`);
    if (!isFine) process.exitCode = 1;
    said.isOver = true;
    show();
  }
};
await Promise.all(Array.from({ length: stagesAtOnce }, worker));

console.log(`\n${[...times, ...notes].join('\n')}`);

/** @returns whether the stage succeeded */
async function run(args: readonly string[], said: Said): Promise<boolean> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = stripVTControlCharacters(rest + text).split('\n');
    rest = lines.pop()!;
    notes.push(...lines.filter((line) => untested.test(line)).map((line) => line.trim()));
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.text += text;
      show();
    });
  }
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0;
  } catch (error) {
    said.text += `It could not be started: ${String(error)}\n`;
    return false;
  }
}

function show(): void {
  for (let first = unshown[0]; first !== undefined; first = unshown[0]) {
    process.stdout.write(first.text);
    first.text = '';
    if (!first.isOver) return;
    unshown.shift();
  }
}
