/**
 * `npm run test:rest`: what `npm run test:all` runs after `npm test`. One stage after the other,
 * all of them even when one fails. Ends with 1 when one failed. What could not be tested on this
 * machine is repeated at the end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Each with the command that runs it alone. */
const stages: readonly (readonly [command: string, args: readonly string[]])[] = [
  ['npm run check', ['scripts/check.ts']],
  ['npm test -- --rest', ['scripts/test.ts', '--rest']],
  ['npm run browser', ['scripts/browser.ts']],
  ['npm run chaos', ['test/chaos/run.ts']],
  ['npm run try-release', ['scripts/try-release.ts']],
];

const root = join(import.meta.dirname, '..');
/** As the stages say it: the tests, node:test, the proofs, the release. */
const untested = /^(?:SKIPPED |\s*﹣ |\S+ NOT PROVED|\S+: not made\. )/;
const notes: string[] = [];
const times: string[] = [];

for (const [command, args] of stages) {
  console.log(`\n── ${command}`);
  const startedAt = performance.now();
  const isFine = await run(args);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  times.push(`${isFine ? '✔' : '✖'} ${command} (${seconds} s)`);
  if (!isFine) process.exitCode = 1;
}

console.log(`\n${[...times, ...notes].join('\n')}`);

/** @returns whether it found nothing wrong */
async function run(args: readonly string[]): Promise<boolean> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text);
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    notes.push(...lines.filter((line) => untested.test(line)).map((line) => line.trim()));
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}
