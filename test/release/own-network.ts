/**
 * Runs a test file in its own network, which has only loopback. No port of this machine conflicts,
 * and the machine that it boots cannot change this machine's network.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const mark = 'SVC_OWN_NETWORK';

/** Whether `runInOwnNetwork` has started this process. */
export const isInOwnNetwork = process.env[mark] === '1';

/** Runs the file there, with the output of this process; needs root. @returns its exit code */
export async function runInOwnNetwork(file: string): Promise<number> {
  const begin = 'ip link set lo up && exec "$@"';
  const program = [process.execPath, ...process.execArgv, file];
  const child = spawn('unshare', ['--net', 'sh', '-c', begin, 'sh', ...program], {
    stdio: 'inherit',
    env: { ...process.env, [mark]: '1' },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** The devices of this process's network. */
export function networkDevices(): readonly string[] {
  const lines = readFileSync('/proc/self/net/dev', 'utf8').split('\n');
  return lines.flatMap((line) => /^\s*([^\s:]+):/.exec(line)?.[1] ?? []);
}
