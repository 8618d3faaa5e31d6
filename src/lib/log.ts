/**
 * The one sink for log lines: JSON lines for machines, one-liners for a terminal.
 *
 * The log never throws and never waits. A slow or closed reader costs lines, not time, and the next
 * line that gets through says how many. No field can break a line or send a control sequence to a
 * terminal. Known secrets are replaced everywhere in a line.
 */
import type { Writable } from 'node:stream';
import { Mask } from './mask.ts';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  /** `code` is stable and snake_case; `message` is for people. */
  debug(code: string, message: string, fields?: LogFields): void;
  info(code: string, message: string, fields?: LogFields): void;
  warn(code: string, message: string, fields?: LogFields): void;
  error(code: string, message: string, fields?: LogFields): void;
  /** Call it before building costly fields. */
  enabled(level: LogLevel): boolean;
  /**
   * From now on the log masks these values. It ignores values under 8 characters, since they occur
   * in ordinary words.
   */
  scrub(values: Iterable<string>): void;
  /** Resolves when every line so far is written, when the reader is gone, or after a second. */
  flush(): Promise<void>;
}

export type LogOptions = {
  readonly stream: Writable;
  readonly level: LogLevel;
  readonly format: 'json' | 'text';
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** ANSI colours in text lines. */
  readonly color?: boolean;
  readonly bufferBytesMax?: number;
};

export function createLog(options: LogOptions): Log {
  return new StreamLog(options);
}

const fieldLengthMax = 4_096;
const lineLengthMax = 65_536;
const flushMs = 1_000;

class StreamLog implements Log {
  readonly #out: BufferedStream;
  readonly #lowest: number;
  readonly #json: boolean;
  readonly #now: () => number;
  readonly #color: boolean;
  readonly #mask = new Mask();

  constructor(options: LogOptions) {
    this.#lowest = logLevels.indexOf(options.level);
    this.#now = options.now ?? Date.now;
    this.#color = options.color ?? false;
    this.#json = options.format === 'json';
    this.#out = new BufferedStream(options.stream, options.bufferBytesMax ?? 1_048_576, (lines) =>
      this.#format('warn', 'log_dropped', 'Lines were dropped: the log is read too slowly.', {
        lines,
      }),
    );
  }

  debug(code: string, message: string, fields?: LogFields): void {
    if (this.#lowest <= 0) this.#out.put(this.#format('debug', code, message, fields), false);
  }

  info(code: string, message: string, fields?: LogFields): void {
    if (this.#lowest <= 1) this.#out.put(this.#format('info', code, message, fields), false);
  }

  warn(code: string, message: string, fields?: LogFields): void {
    if (this.#lowest <= 2) this.#out.put(this.#format('warn', code, message, fields), true);
  }

  error(code: string, message: string, fields?: LogFields): void {
    this.#out.put(this.#format('error', code, message, fields), true);
  }

  enabled(level: LogLevel): boolean {
    return logLevels.indexOf(level) >= this.#lowest;
  }

  scrub(values: Iterable<string>): void {
    this.#mask.add(values);
  }

  flush(): Promise<void> {
    return this.#out.flush();
  }

  #format(level: LogLevel, code: string, message: string, fields?: LogFields): string {
    return this.#json
      ? this.#jsonLine(level, code, message, fields)
      : this.#textLine(level, code, message, fields);
  }

  #clean(text: string): string {
    return this.#mask.clean(text).replace(unprintable, escapeCharacter);
  }

  #jsonLine(level: LogLevel, code: string, message: string, fields?: LogFields): string {
    const head = { time: timeText(this.#now()), level, code, message };
    const line = this.#stringify(fields === undefined ? head : { ...head, ...fields, ...head });
    return `${this.#clean(line ?? JSON.stringify({ ...head, fieldsLost: true }))}\n`;
  }

  #textLine(level: LogLevel, code: string, message: string, fields?: LogFields): string {
    const time = new Date(this.#now()).toTimeString().slice(0, 8);
    const word = level.padEnd(5);
    const short = `${String(this.#plain(message))}  ${code}`;
    let body = short;
    for (const name in fields) {
      if (fields[name] === undefined || fields[name] === null) continue;
      body += ` ${name}=${this.#textValue(fields[name])}`;
    }
    const clean = this.#clean(body.length > lineLengthMax ? short : body);
    if (!this.#color) return `${time} ${word} ${clean}\n`;
    return `\x1b[2m${time}\x1b[0m ${colors[level]}${word}\x1b[0m ${clean}\n`;
  }

  #textValue(value: unknown): string {
    const plain = typeof value === 'string' && /^[\w.:/@+-]{1,200}$/.test(value);
    return plain ? value : (this.#stringify(value) ?? '?');
  }

  /** JSON of any value; null: it has none, or it is much too long. */
  #stringify(value: unknown): string | null {
    try {
      const text = JSON.stringify(value, (_, part: unknown) => this.#plain(part));
      return text === undefined || text.length > lineLengthMax ? null : text;
    } catch {
      return null;
    }
  }

  #plain(part: unknown): unknown {
    if (typeof part === 'bigint') return String(part);
    if (part instanceof Error) return { name: part.name, message: part.message };
    if (typeof part !== 'string' || part.length <= fieldLengthMax) return part;
    // Mask before cutting: the mask would not recognise half a secret.
    return `${this.#mask.clean(part).slice(0, fieldLengthMax)}…`;
  }
}

const colors = { debug: '\x1b[2m', info: '\x1b[36m', warn: '\x1b[33m', error: '\x1b[31m' };

/**
 * Control characters, line and paragraph separators, and characters that change the writing
 * direction.
 */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

function escapeCharacter(character: string): string {
  if (character === '\n') return String.raw`\n`;
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

let timeMs = Number.NaN;
let timeIso = '';

/** RFC 3339 in UTC. It is cached, since many lines share a millisecond. */
function timeText(ms: number): string {
  if (ms !== timeMs) {
    timeMs = ms;
    timeIso = new Date(ms).toISOString();
  }
  return timeIso;
}

/**
 * A buffer with a size limit before a stream. One chunk is under way at a time. Later lines wait,
 * up to the limit. Above the limit they are dropped and counted until the chunk is written.
 *
 * idle → gathering (a line came) → writing (a chunk is under way) → idle; any → gone (error, close)
 */
class BufferedStream {
  readonly #stream: Writable;
  readonly #bytesMax: number;
  readonly #notice: (lines: number) => string;
  #pending = '';
  #pendingBytes = 0;
  #dropped = 0;
  #state: 'idle' | 'gathering' | 'writing' | 'gone' = 'idle';
  #flushes: (() => void)[] = [];

  constructor(stream: Writable, bytesMax: number, notice: (lines: number) => string) {
    this.#stream = stream;
    this.#bytesMax = bytesMax;
    this.#notice = notice;
    stream.on('error', this.#markGone);
    stream.on('close', this.#markGone);
  }

  /**
   * @param urgent write before the next turn of the event loop, so that a later crash does not lose
   *   it
   */
  put(line: string, urgent: boolean): void {
    if (this.#state === 'gone') return;
    const bytes = Buffer.byteLength(line);
    if (this.#dropped > 0 || this.#pendingBytes + bytes > this.#bytesMax) {
      this.#dropped++;
    } else {
      this.#pending += line;
      this.#pendingBytes += bytes;
    }
    if (this.#state === 'writing') return;
    if (urgent) return this.#write();
    if (this.#state === 'gathering') return;
    this.#state = 'gathering';
    setImmediate(this.#writeGathered);
  }

  flush(): Promise<void> {
    if (this.#state === 'gathering') this.#write();
    if (this.#state !== 'writing') return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, flushMs);
      this.#flushes.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  readonly #writeGathered = (): void => {
    if (this.#state === 'gathering') this.#write();
  };

  #write(): void {
    const chunk = this.#dropped === 0 ? this.#pending : this.#pending + this.#notice(this.#dropped);
    this.#pending = '';
    this.#pendingBytes = 0;
    this.#dropped = 0;
    this.#state = 'writing';
    this.#stream.write(chunk, this.#written);
  }

  readonly #written = (error?: Error | null): void => {
    if (this.#state === 'gone') return;
    if (error instanceof Error) return this.#markGone();
    if (this.#pending !== '' || this.#dropped > 0) return this.#write();
    this.#state = 'idle';
    this.#resolveFlushes();
  };

  readonly #markGone = (): void => {
    this.#state = 'gone';
    this.#pending = '';
    this.#resolveFlushes();
  };

  #resolveFlushes(): void {
    const waiting = this.#flushes;
    this.#flushes = [];
    for (const resolve of waiting) resolve();
  }
}
