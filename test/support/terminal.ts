/** A terminal with svc in it, as a person sees it: a real one, or one in this process. */
import { spawn } from '@lydell/node-pty';
import type { Command } from '../../src/cli/cli.ts';
import { startCommand } from './in-process.ts';
import { launcher, root } from './run-svc.ts';

export type Terminal = AsyncDisposable & {
  type(keys: string): void;
  /** The effect of Ctrl-C where no program reads keys. */
  interrupt(): void;
  /** Waits for text after the finds of earlier calls. */
  sees(pattern: RegExp): Promise<void>;
  /** All text shown so far. */
  seen(): string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
};

export type Room = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Runs in this process, instead of the command that the first word names. */
  readonly command?: Command;
};

/** `svc <args>` at a terminal in this process. Lines may end with a line feed alone. */
export function openTerminal(args: readonly string[], room: Room = {}): Terminal {
  const run = startCommand(args, { ...room, terminal: true });
  let read = 0;
  return {
    type: (keys) => void run.input.write(keys),
    interrupt: () => void run.stop(),
    async sees(pattern) {
      const found = await run.until(pattern, 'out', read);
      read = found.index + found[0].length;
    },
    seen: () => run.out(),
    ended: run.ended,
    [Symbol.asyncDispose]: () => run[Symbol.asyncDispose](),
  };
}

type RealRoom = Room & {
  /** Runs the launcher. */
  readonly node?: string;
  readonly columns?: number;
};

/** The same at a pseudo-terminal, in a process of its own. */
export function openRealTerminal(
  args: readonly string[],
  { node = process.execPath, cwd = root, env = {}, columns = 200 }: RealRoom = {},
): Terminal {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  const terminal = spawn(node, [launcher, ...args], {
    cols: columns,
    rows: 50,
    cwd,
    env: { ...own, TERM: 'xterm', NO_COLOR: '1', ...env },
  });
  let seen = '';
  let read = 0;
  let over = false;
  const watchers = new Set<() => void>();
  const lookAgain = (): void => watchers.forEach((look) => look());
  terminal.onData((text) => {
    seen += text;
    lookAgain();
  });
  const ended = new Promise<number>((resolve) => {
    terminal.onExit(({ exitCode }) => {
      over = true;
      lookAgain();
      resolve(exitCode);
    });
  });
  const sees = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(seen.slice(read));
        if (found !== null) read += found.index + found[0].length;
        else if (!over) return;
        watchers.delete(look);
        if (found !== null) resolve();
        else reject(new Error(`ended before ${pattern}: ${seen}`));
      };
      watchers.add(look);
      look();
    });
  return {
    type: (keys) => terminal.write(keys),
    interrupt: () => terminal.write('\x03'),
    sees,
    seen: () => seen,
    ended,
    async [Symbol.asyncDispose]() {
      if (!over) terminal.kill('SIGKILL');
      await ended;
    },
  };
}
