/** Debian's Prometheus, which scrapes a running svc. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canRun } from '../../src/lib/executable.ts';
import { until } from '../support/waiting.ts';
import { guard } from './postgres/server.ts';

const program = '/usr/bin/prometheus';
const tool = '/usr/bin/promtool';

/** Why it is missing; false: it is there. */
export const noPrometheus: string | false = whyNone();

function whyNone(): string | false {
  const missing = [program, tool].find((one) => !canRun(one));
  return missing !== undefined && `there is no ${missing}: apt install prometheus`;
}

/** Runs `promtool <args>` to its end, with that input. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly ok: boolean; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(tool, args, { encoding: 'utf8', input });
  return { ok: status === 0, said: stdout + stderr };
}

/** One series of an answer: its labels, and its value at the time of the question. */
export type Sampled = { readonly metric: Record<string, string>; readonly value: [number, string] };

export class Prometheus implements AsyncDisposable {
  readonly #port: number;
  readonly #end: () => Promise<void>;

  constructor(port: number, end: () => Promise<void>) {
    this.#port = port;
    this.#end = end;
  }

  /** The answer of its HTTP API at that path. Throws if Prometheus refuses the question. */
  async ask<T>(path: string): Promise<T> {
    const answer = await fetch(`http://127.0.0.1:${this.#port}/api/v1/${path}`);
    const { status, error, data } = (await answer.json()) as {
      readonly status: string;
      readonly error?: string;
      readonly data: T;
    };
    if (status !== 'success') throw new Error(`${path}: ${error}`);
    return data;
  }

  /** The series of the expression now. */
  async query(expression: string): Promise<readonly Sampled[]> {
    const path = `query?query=${encodeURIComponent(expression)}`;
    return (await this.ask<{ readonly result: readonly Sampled[] }>(path)).result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }
}

/**
 * Resolves when it answers.
 * @param file its configuration
 * @param port a free one of 127.0.0.1
 */
export async function startPrometheus(file: string, port: number): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-prometheus-'));
  const log = join(folder, 'log');
  const shell = 'exec "$0" "$@" >log 2>&1';
  const flags = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn('sh', ['-c', shell, program, ...flags], { cwd: folder, stdio: 'ignore' });
  writeFileSync(join(folder, 'prometheus.pid'), `${child.pid}\n`);
  guard(process.pid, folder);
  const end = async (): Promise<void> => {
    const ended = child.exitCode ?? child.signalCode ?? once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const isUp = async (): Promise<boolean> => child.exitCode !== null || (await isReady(port));
  await until('the start of Prometheus', isUp);
  if (child.exitCode !== null) {
    const said = readFileSync(log, 'utf8');
    await end();
    throw new Error(`Prometheus does not start:\n${said}`);
  }
  return new Prometheus(port, end);
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok;
  } catch {
    return false;
  }
}
