/** A question at a terminal whose answer is not shown. */
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Io } from '../cli.ts';

/** @returns what was typed, without its line end; null: Ctrl-C, Ctrl-D or a stop came first */
export async function askHidden({ stdin, stderr, stop }: Io, question: string) {
  // The terminal echoes nothing while keys are read one by one, and what would be shown goes here.
  const nowhere = new Writable({ write: (_part, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  // By now it echoes no more, however soon the answer comes.
  stderr.write(question);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const end = (): void => resolve(null);
  lines.once('line', resolve);
  lines.once('close', end);
  lines.once('SIGINT', end);
  stop.addEventListener('abort', end, { once: true });
  if (stop.aborted) end();
  try {
    return await promise;
  } finally {
    stop.removeEventListener('abort', end);
    lines.close();
    stderr.write('\n');
  }
}
