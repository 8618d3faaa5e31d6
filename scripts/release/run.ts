/** Runs the tools that make a release. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type RunOptions = {
  readonly cwd?: string;
  /** Replaces variables of the process; `undefined` removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The text for its standard input. */
  readonly input?: string;
  /** Called with each line of its output as it arrives. */
  readonly told?: (line: string) => void;
};

/**
 * @returns its standard output
 * @throws with the command and its output, when it cannot start or ends with anything but 0
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
  // A program may end without reading; its exit code and output then say why.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const code = await promise;
  if (code === 0) return out;
  throw new Error(`${[program, ...args].join(' ')} ended with ${String(code)}:\n${out}${err}`);
}
