/** Reads the state of svc from outside, and sums it up, for the proofs about the network. */
import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { request, type Agent } from 'node:http';
import type { Program } from '../support/program.ts';
import { patienceMs } from '../support/waiting.ts';

/** @param share 0.99 is the 99th percentile */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Stops it once it listens; before that it ignores signals, but may answer waiting messages. */
export async function stopAsAsked(program: Program): Promise<void> {
  await program.saw('"listening"');
  program.child.kill('SIGTERM');
  assert.equal(await program.ended, 0, program.log().slice(-2_000));
}

export type Asked = { readonly status: number; readonly body: string };

export type Question = {
  readonly port: number;
  readonly path: string;
  /** Keeps connections; left out: a connection of its own, closed afterwards. */
  readonly agent?: Agent;
  readonly headers?: Record<string, string>;
  /** The body of a POST; left out: GET. */
  readonly body?: string;
  readonly timeoutMs?: number;
};

/** One exchange with svc; null when no whole answer came within the time allowed. */
export function ask(question: Question): Promise<Asked | null> {
  const { port, path, agent = false, headers = {}, body, timeoutMs = patienceMs } = question;
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const method = body === undefined ? 'GET' : 'POST';
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path, agent, method, signal };
    const asking = request({ ...options, headers: { ...headers, ...length } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('error', () => resolve(null));
      answer.on('close', () => {
        resolve(answer.complete ? { status: answer.statusCode ?? 0, body: text } : null);
      });
    });
    asking.on('error', () => resolve(null));
    asking.end(body);
  });
}

/** The sum of a metric's series whose labels hold this text. */
export function metricOf(page: string, name: string, label = ''): number {
  const lines = page.split('\n').filter((line) => {
    const [series = ''] = line.split(' ');
    return (series === name || series.startsWith(`${name}{`)) && series.includes(label);
  });
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** Counts a process's open sockets and other handles, by /proc; null where there is none. */
export function handlesOf(pid: number): { sockets: number; others: number } | null {
  const folder = `/proc/${pid}/fd`;
  try {
    const targets = readdirSync(folder).map((name) => targetOf(`${folder}/${name}`));
    const sockets = targets.filter((target) => target.startsWith('socket:')).length;
    return { sockets, others: targets.length - sockets };
  } catch {
    return null;
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
