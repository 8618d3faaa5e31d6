/**
 * One line per message, for the person at the terminal where svc runs: who wrote where, which model
 * answered, how long it took, or why none did. It never prints text of the conversation, since a
 * terminal keeps it. If lines come faster than a person reads, it prints only their number.
 */
import { channelName } from '../../channels/registry.ts';
import { registeredNameOf } from '../../domain/ids.ts';
import type { Events } from '../../domain/event.ts';
import { formatModelName } from '../../domain/model-words.ts';
import type { Sender } from '../../domain/message.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import type { Io } from '../cli.ts';
import { localTime } from '../ledger/table.ts';
import { plainLine } from '../../lib/plain-text.ts';
import { isColoured, signOf } from './report.ts';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { WriteStream } from 'node:tty';

export type TurnResult =
  | Parameters<Events['turnFinished']>[0]
  | Parameters<Events['commandAnswered']>[0];

type TurnLinesOptions = Clock & {
  /** Disposed of with the lines. */
  readonly outlet: TerminalOutlet;
  readonly coloured: boolean;
};

/** The most lines at once, and the lines per second over a longer time. */
const linesAtOnce = 20;
const linesEachSecond = 4;
const moreAfterMs = 1_000;

export class TurnLines implements Disposable {
  readonly #options: TurnLinesOptions;
  #room = linesAtOnce;
  #filledAt: number;
  #skipped = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: TurnLinesOptions) {
    this.#options = options;
    this.#filledAt = options.steady();
  }

  show(turn: TurnResult): void {
    if (this.#hasRoom()) return this.#options.outlet.write(this.#lineOf(turn));
    this.#skipped++;
    this.#timer ??= setTimeout(() => this.#writeSkipped(), moreAfterMs).unref();
  }

  [Symbol.dispose](): void {
    this.#writeSkipped();
    this.#options.outlet[Symbol.dispose]();
  }

  #hasRoom(): boolean {
    const now = this.#options.steady();
    const gained = ((now - this.#filledAt) / 1_000) * linesEachSecond;
    this.#room = Math.min(linesAtOnce, this.#room + gained);
    this.#filledAt = now;
    if (this.#room < 1) return false;
    this.#room--;
    return true;
  }

  #writeSkipped(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#skipped === 0) return;
    const count = this.#skipped.toLocaleString('en-US');
    this.#skipped = 0;
    this.#options.outlet.write(`  … and ${count} more\n`);
  }

  #lineOf(turn: TurnResult): string {
    const time = localTime(this.#options.now()).slice('2026-11-21 '.length);
    const isWell = 'command' in turn || turn.decision.kind === 'reply';
    const sign = signOf(isWell ? 'ok' : 'failed', this.#options.coloured);
    const who = `${nameOf(turn.sender)} on ${channelName(registeredNameOf(turn.channel))}`;
    return `${sign} ${time} ${who}: ${outcomeOf(turn)}\n`;
  }
}

const nameLengthMax = 40;

function nameOf({ id, name }: Sender): string {
  const whole = plainLine(name ?? id);
  return whole.length > nameLengthMax ? `${whole.slice(0, nameLengthMax - 1)}…` : whole;
}

function outcomeOf(turn: TurnResult): string {
  const after = `${(turn.ms / 1_000).toFixed(1)} s`;
  if ('command' in turn) return `${plainLine(turn.command)}, answered by svc`;
  const { decision } = turn;
  return decision.kind === 'reply'
    ? `answered by ${plainLine(formatModelName(decision.model))} in ${after}`
    : `no answer after ${after}: ${plainLine(decision.why)}`;
}

/** Opens the lines at the terminal of standard output. */
export function openTurnLines({ stdout, env }: Io): TurnLines {
  const coloured = isColoured(stdout, env);
  return new TurnLines({ outlet: openTerminalOutlet(stdout), coloured, ...systemClock });
}

/**
 * Writes to a terminal without ever waiting for it. Node's own calls wait, so a terminal that a
 * person has stopped (Ctrl-S) would stop the whole service. This opens the terminal once more, and
 * drops text that it does not take at once.
 */
type TerminalOutlet = Disposable & { write(text: string): void };

function openTerminalOutlet(stream: Io['stdout']): TerminalOutlet {
  const fd = stream instanceof WriteStream ? openOwn(fdOf(stream)) : null;
  if (fd === null) {
    return { write: (text) => void stream.write(text), [Symbol.dispose]: () => {} };
  }
  return {
    write(text) {
      try {
        writeSync(fd, text);
      } catch {
        // The terminal is stopped or gone.
      }
    },
    [Symbol.dispose]: () => closeSync(fd),
  };
}

/** The type has no `fd`: https://nodejs.org/api/process.html#processstdoutfd */
function fdOf(stream: WriteStream): number {
  return (stream as WriteStream & { readonly fd: number }).fd;
}

/**
 * @returns null: the terminal cannot be opened once more. On Windows a write does not wait for the
 * terminal, and there is no such flag.
 */
function openOwn(fd: number): number | null {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
  if (process.platform === 'win32') return null;
  const path = process.platform === 'linux' ? `/proc/self/fd/${fd}` : '/dev/tty';
  try {
    return openSync(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    return null;
  }
}
