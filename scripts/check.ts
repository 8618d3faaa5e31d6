/**
 * `npm run check`: types, lint, unused code and format. Prints the result of each check, with its
 * output where it failed. Ends with 1 when one failed.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};
const bin = join(root, 'node_modules', '.bin');
const env = { ...process.env, PATH: [bin, process.env['PATH']].join(delimiter) };

for (const name of ['types', 'lint', 'unused', 'format:check']) {
  const startedAt = performance.now();
  const { isFine, output } = await run(scripts[name]!);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  console.log(`${isFine ? '✔' : '✖'} ${name} (${seconds} s)`);
  if (isFine) continue;
  console.log(output);
  process.exitCode = 1;
}

/** Runs a script of package.json without npm, whose own start takes as long as some scripts. */
function run(command: string): Promise<{ readonly isFine: boolean; readonly output: string }> {
  const { promise, resolve } = Promise.withResolvers<{ isFine: boolean; output: string }>();
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  const child = spawn(command, { shell: true, cwd: root, env, stdio });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  child.on('error', (error) => resolve({ isFine: false, output: error.message }));
  child.on('close', (code) => resolve({ isFine: code === 0, output }));
  return promise;
}
