/** Whether a person really wants what cannot be taken back, or takes long. */
import { createInterface } from 'node:readline/promises';
import type { Io } from '../cli.ts';

export const noTerminal = 'There is no terminal to ask at: say --yes to delete for good.';

export function canAsk({ stdin, stderr }: Io): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/**
 * Only the whole word is a yes; the end of the input is a no, and a no is told.
 * @param no what is told then
 */
export async function agrees(
  io: Io,
  question: string,
  no = 'Nothing was deleted.',
): Promise<boolean> {
  const agreed = await saysYes(io, question);
  if (!agreed) io.stderr.write(`${no}\n`);
  return agreed;
}

async function saysYes({ stdin, stderr, stop }: Io, question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  const over = new AbortController();
  const end = (): void => over.abort();
  lines.once('close', end);
  lines.once('SIGINT', end);
  stop.addEventListener('abort', end, { once: true });
  try {
    return (await lines.question(question, { signal: over.signal })).trim() === 'yes';
  } catch {
    stderr.write('\n');
    return false;
  } finally {
    stop.removeEventListener('abort', end);
    lines.close();
  }
}
