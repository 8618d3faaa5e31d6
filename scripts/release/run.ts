/** Runs the programs that a release is made with. */
import { spawn } from 'node:child_process';

export type RunOptions = {
  readonly cwd?: string;
  /** In the place of what the process has of that name; `undefined` takes it away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What it reads. */
  readonly input?: string;
};

/**
 * @returns what it wrote to its output
 * @throws with the command and what it wrote, when it cannot be run or ends with anything but 0
 */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, env = {}, input = '' }: RunOptions = {},
): Promise<string> {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.on('error', reject);
  child.on('close', resolve);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  // Where it ends without reading, its exit code and its words tell why.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const code = await promise;
  if (code === 0) return out;
  throw new Error(`${[program, ...args].join(' ')} ended with ${String(code)}:\n${out}${err}`);
}
