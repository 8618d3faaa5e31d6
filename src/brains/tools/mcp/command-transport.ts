/**
 * The transport to a server that is a local program: messages are lines of JSON on its stdin and
 * stdout. svc starts it without a shell, in a process group of its own, and ends the whole group.
 * When svc dies, the server's stdin closes, and the server ends by itself.
 *
 * Source: MCP 2025-11-25, basic/transports, "stdio".
 */
import { isObject } from '../../../lib/json.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { plainLine } from '../../../lib/plain-text.ts';

export type CommandOptions = {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

/** A longer line ends the server. */
const lineBytesMax = 1024 * 1024;
/** So that a line of single bytes takes no more memory than a line of few parts. */
const linePartsMax = 256;
/** In one line, as revision 2025-03-26 of the protocol allows. */
const lineMessagesMax = 256;
/** Data that the server does not read waits in memory; beyond this, nothing more is sent. */
const waitingBytesMax = 1024 * 1024;
const stderrBytesMax = 4_096;
/** The time between asking a server to end and killing it. */
const endMs = 700;

/** The reason of an end that svc caused. */
export const endedBySvc = 'it was ended';

/** The search path for programs if `env` has no PATH. */
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Windows starts hardly any program without these. */
const windowsVariables = ['SystemRoot', 'PATH', 'PATHEXT'];

export class CommandTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  /** Why the server ended, in a few words without any of its output; null: it runs. */
  ended: string | null = null;
  readonly #options: CommandOptions;
  #child: ChildProcess | null = null;
  /** The last bytes of its stderr. */
  #stderrEnd: Buffer = Buffer.alloc(0);
  #isStderrCut = false;
  readonly #stderrClosed = Promise.withResolvers<void>();
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** Set while the server is being ended: its output is read, so that it can end, and dropped. */
  #isEnding = false;

  constructor(options: CommandOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { program, args, env } = this.#options;
    const child = spawn(program, args, {
      env: { ...basicEnv(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      shell: false,
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    this.#child = child;
    // It may hold anything, so it goes into no log. If nobody read it, the server would block.
    child.stderr?.on('data', (bytes: Buffer) => {
      const all = Buffer.concat([this.#stderrEnd, bytes]);
      this.#isStderrCut ||= all.length > stderrBytesMax;
      this.#stderrEnd = all.subarray(-stderrBytesMax);
    });
    child.stderr?.once('close', () => this.#stderrClosed.resolve());
    child.stdin?.on('error', () => {});
    child.stdout?.on('error', () => {});
    child.stdout?.on('data', (bytes: Buffer) => this.#take(bytes));
    child.once('exit', (code, signal) => {
      this.#finish(signal === null ? `it ended with ${code}` : `it was ended by ${signal}`);
      this.#killGroup('SIGKILL');
    });
    return new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error: NodeJS.ErrnoException) => {
        this.#finish(`it cannot be started (${error.code ?? 'unknown error'})`);
        reject(new Error('the program cannot be started'));
      });
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin || this.ended !== null || !stdin.writable) throw new Error('the server is gone');
    if (stdin.writableLength > waitingBytesMax) throw new Error('the server does not read');
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  /**
   * The reason for the server's end in its own words: the last line of its stderr that names an
   * error, or else the last line.
   * @param clean removes secrets from the text
   * @returns null: it wrote nothing
   */
  async lastWords(clean: (text: string) => string): Promise<string | null> {
    const child = this.#child;
    const hasExited = child !== null && (child.exitCode !== null || child.signalCode !== null);
    if (hasExited) await Promise.race([this.#stderrClosed.promise, pause(endMs)]);
    const lines = clean(this.#stderrEnd.toString('utf8')).split(/[\r\n]+/);
    // It may begin in the middle of a secret.
    if (this.#isStderrCut) lines.shift();
    const stderrLines = lines.map((line) => plainLine(line).trim()).filter((line) => line !== '');
    const ownLines = stderrLines.filter((line) => !/^Node\.js v\d/.test(line));
    return (
      ownLines.findLast((line) => /^[\w.]*(?:Error|Exception)\b/.test(line)) ??
      ownLines.at(-1) ??
      null
    );
  }

  /** Closes its stdin, asks the process group to end, and kills it after a moment. */
  async close(): Promise<void> {
    this.#isEnding = true;
    const child = this.#child;
    if (child === null || child.pid === undefined) return this.#finish(endedBySvc);
    const exited = new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve();
      else child.once('exit', () => resolve());
    });
    child.stdin?.end();
    this.#killGroup('SIGTERM');
    const timer = setTimeout(() => this.#killGroup('SIGKILL'), endMs);
    await exited;
    clearTimeout(timer);
    this.#killGroup('SIGKILL');
    // A program that left the group may hold the other ends open.
    child.stdin?.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
    this.#finish(endedBySvc);
  }

  #take(bytes: Buffer): void {
    let from = 0;
    while (this.ended === null && !this.#isEnding) {
      const end = bytes.indexOf(10, from);
      const part = bytes.subarray(from, end < 0 ? bytes.length : end);
      this.#lineBytes += part.length;
      if (this.#lineBytes > lineBytesMax) return this.#endForLongLine();
      if (part.length > 0) this.#line.push(part);
      if (this.#line.length > linePartsMax) this.#line = [Buffer.concat(this.#line)];
      if (end < 0) return;
      const line = Buffer.concat(this.#line).toString('utf8');
      [this.#line, this.#lineBytes] = [[], 0];
      from = end + 1;
      this.#read(line);
    }
  }

  #read(line: string): void {
    let value: unknown = null;
    try {
      // Some write a byte order mark before each message (typescript-sdk#2790).
      value = JSON.parse(line.replace(/^\uFEFF/, ''));
    } catch {
      // Reported below: it is no message.
    }
    for (const message of Array.isArray(value) ? value.slice(0, lineMessagesMax) : [value]) {
      if (isObject(message)) {
        this.onmessage?.(message as JSONRPCMessage);
      } else this.onerror?.(new Error('a line that is no message'));
    }
  }

  #endForLongLine(): void {
    [this.#line, this.#lineBytes] = [[], 0];
    this.#child?.stdout?.pause();
    this.#finish('it wrote a line of more than 1 MiB');
    void this.close();
  }

  #finish(why: string): void {
    if (this.ended !== null) return;
    this.ended = why;
    this.onclose?.();
  }

  /** Reaches all programs that it started, unless they left the group. */
  #killGroup(signal: 'SIGTERM' | 'SIGKILL'): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      if (process.platform === 'win32') this.#child?.kill(signal);
      else process.kill(-pid, signal);
    } catch {
      // It is gone.
    }
  }
}

function basicEnv(): Record<string, string> {
  if (process.platform !== 'win32') return { PATH: defaultPath };
  return Object.fromEntries(
    windowsVariables.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
