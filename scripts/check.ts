/**
 * `npm test`: everything that has to hold before a commit. Beside the tests, at a low priority, run
 * the checks of format, lint, types and unused code; their output is printed only when they fail.
 * Ends with 1 when anything failed, and tells all that failed.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { arePagesFresh } from './pages-stamp.ts';

const root = join(import.meta.dirname, '..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};
const bin = join(root, 'node_modules', '.bin');
const env = { ...process.env, PATH: [bin, process.env['PATH']].join(delimiter) };

type Ran = { readonly name: string; readonly isFine: boolean; readonly output: string };

const beside = runBeside(['lint', 'types', 'unused', 'format:check']);
const ran = arePagesFresh() ? [] : [await run('pages')];
ran.push(await run('build'));
ran.push(await run('tests'));
ran.push(...(await beside));

const failed = ran.filter(({ isFine }) => !isFine);
for (const { name, output } of failed) if (output !== '') console.error(`\n${name}\n${output}`);
if (failed.length > 0) {
  console.error(`\nFAILED: ${failed.map(({ name }) => `npm run ${name}`).join(', ')}`);
  process.exitCode = 1;
}

/** Runs one after the other, whatever each comes to. */
async function runBeside(names: readonly string[]): Promise<readonly Ran[]> {
  const done: Ran[] = [];
  for (const name of names) done.push(await runQuietly(name));
  return done;
}

function run(name: string): Promise<Ran> {
  return ended(name, spawn(commandOf(name), { shell: true, cwd: root, env, stdio: 'inherit' }));
}

function runQuietly(name: string): Promise<Ran> {
  const command = commandOf(name);
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  const child =
    process.platform === 'win32'
      ? spawn(command, { shell: true, cwd: root, env, stdio })
      : spawn('nice', ['-n', '10', 'sh', '-c', command], { cwd: root, env, stdio });
  return ended(name, child);
}

/** A script of package.json, run without npm, which takes as long to start as some scripts run. */
function commandOf(name: string): string {
  const command = scripts[name];
  if (command === undefined) throw new Error(`package.json has no script "${name}"`);
  return command;
}

function ended(name: string, child: ChildProcess): Promise<Ran> {
  const { promise, resolve } = Promise.withResolvers<Ran>();
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  child.on('error', (error) => resolve({ name, isFine: false, output: error.message }));
  child.on('close', (code) => resolve({ name, isFine: code === 0, output }));
  return promise;
}
