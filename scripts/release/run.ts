/** Runs the programs that a release is made with. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type RunOptions = {
  readonly cwd?: string;
  /** In the place of what the process has of that name; `undefined` takes it away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What it reads. */
  readonly input?: string;
  /** Is told of each line of its output, as it comes. */
  readonly told?: (line: string) => void;
};

/**
 * @returns what it wrote to its output
 * @throws with the command and what it wrote, when it cannot be run or ends with anything but 0
 */
export async function run(
  program: string,
  args: readonly string[],
  { cwd, env = {}, input = '', told }: RunOptions = {},
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
  if (told !== undefined) createInterface(child.stdout).on('line', told);
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  // Where it ends without reading, its exit code and its words tell why.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const code = await promise;
  if (code === 0) return out;
  throw new Error(`${[program, ...args].join(' ')} ended with ${String(code)}:\n${out}${err}`);
}
