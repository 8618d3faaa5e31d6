/**
 * A test file in a network of its own, in which is nothing but loopback: no port of this machine is
 * in its way, and what it boots cannot change this machine's network.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const mark = 'SVC_OWN_NETWORK';

/** Whether this process is the one that `runInOwnNetwork` has begun. */
export const isInOwnNetwork = process.env[mark] === '1';

/** Runs the file there, with the output of this process; for root alone. @returns its exit code */
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

/** The devices of the network that this process is in. */
export function networkDevices(): readonly string[] {
  const lines = readFileSync('/proc/self/net/dev', 'utf8').split('\n');
  return lines.flatMap((line) => /^\s*([^\s:]+):/.exec(line)?.[1] ?? []);
}
