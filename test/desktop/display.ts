/** A display without a screen: Xvfb, on the first free number. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Account } from './account.ts';

export type Display = AsyncDisposable & {
  /** The value of the variable DISPLAY. */
  readonly name: string;
  readonly pid: number;
};

export async function openDisplay(
  account: Account | null,
  env: Readonly<Record<string, string>>,
): Promise<Display> {
  const words = '-displayfd 3 -screen 0 1280x800x24 -nolisten tcp -noreset'.split(' ');
  const server = spawn('Xvfb', words, {
    env,
    ...account,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  let said = '';
  server.stderr!.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(server, 'exit').then(() => null);
  const line = once(createInterface({ input: server.stdio[3] as Readable }), 'line');
  const told = (await Promise.race([line, ended])) as [string] | null;
  if (told === null) throw new Error(`Xvfb ended:\n${said}`);
  return {
    name: `:${told[0]}`,
    pid: server.pid!,
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL');
      await ended;
    },
  };
}
