/** One connection of the attack, and its allowed answers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { anotherHost } from '../../fake/many-hosts.ts';
import { AnswerReader, type Answer } from './answers.ts';
import { piecesOf, type Pattern } from './patterns.ts';
import type { Kind } from './requests.ts';
import { patienceMs } from '../../support/waiting.ts';

/** The answer to a kind of request while nothing else went on. */
export type Expected = {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly size: number;
};

/** The answers of svc to too many requests at once. */
const busyCodes = /"code":"(?:inbox_full|busy)"/;
const lateMsMax = 100;
/** A client that stayed reads this much of its unread answers. */
const leftBytesMax = 262_144;

export class Client {
  readonly pattern: Pattern;
  readonly #expected: ReadonlyMap<Kind, Expected>;
  readonly #socket: Socket;
  readonly #reader: AnswerReader;
  readonly #marks: string[] = [];
  /** The end of each request in the sent bytes. */
  readonly #ends: number[] = [];
  /** The number of requests with one known answer each. */
  readonly #firm: number;
  #sentBytes = 0;
  #readBytes = 0;
  #isClosed = false;
  #fault: Error | null = null;
  #wake = (): void => {};

  constructor(pattern: Pattern, port: number, expected: ReadonlyMap<Kind, Expected>) {
    this.pattern = pattern;
    this.#expected = expected;
    const { requests } = pattern;
    const loose = requests.findIndex(({ ends }) => ends);
    this.#firm = loose < 0 ? requests.length : loose;
    this.#reader = new AnswerReader((index) => requests[index]?.method ?? 'GET');
    const to = { host: '127.0.0.1', port, localAddress: anotherHost(), allowHalfOpen: true };
    this.#socket = connect(to).setNoDelay();
    this.#socket.on('error', () => {});
    this.#socket.on('data', (bytes: Buffer) => this.#take(bytes));
    this.#socket.on('end', () => this.#close());
    this.#socket.on('close', () => this.#close());
    this.#socket.pause();
  }

  /** The number of requests that svc, or the system for it, has taken from the client. */
  get sent(): number {
    return this.#ends.filter((end) => end <= this.#sentBytes).length;
  }

  get answered(): number {
    return this.#reader.whole;
  }

  /** svc has closed it. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @returns whether the client stays: then `leave` must be called later */
  async play(): Promise<boolean> {
    const { client, random } = this.pattern;
    await this.#send();
    switch (client) {
      case 'reads all late':
        await new Promise((resolve) => setTimeout(resolve, random() * lateMsMax));
        await this.#readUntil(this.#firm);
        this.#socket.destroy();
        return false;
      case 'reads half and stops':
        await this.#readUntil(Math.floor(this.#firm / 2));
        this.#socket.pause();
        return true;
      case 'reads none and resets':
        if (this.#socket.connecting) await once(this.#socket, 'connect').catch(() => {});
        await turns(random() * 30);
        this.#socket.resetAndDestroy();
        return false;
      case 'reads none and ends its side':
        this.#socket.end();
        return true;
      case 'reads none and stays':
        return true;
      default:
        return client satisfies never;
    }
  }

  /** Reads the unread answers, and closes. */
  async leave(): Promise<void> {
    await this.#readUntil(this.#firm, leftBytesMax);
    this.#socket.destroy();
  }

  async #send(): Promise<void> {
    const { requests, isCut, random } = this.pattern;
    const parts = requests.map((kind, index) => {
      // Short ids, but unique among the requests of this process.
      const { bytes, mark } = kind.make(`${++made}-${index}`);
      this.#marks.push(mark);
      this.#ends.push((this.#ends.at(-1) ?? 0) + bytes.length);
      return bytes;
    });
    const bytes = Buffer.concat(parts);
    for (const piece of isCut ? piecesOf(bytes, random) : [bytes]) {
      if (!this.#socket.writable) return;
      this.#socket.write(piece, (error) => {
        if (!error) this.#sentBytes += piece.length;
      });
      if (isCut) await turns(random() * 4);
    }
  }

  /** Reads until so many answers, or bytes, have come, or svc has closed. */
  async #readUntil(answers: number, bytesMax = Infinity): Promise<void> {
    const isOver = (): boolean => {
      const enough = this.#reader.whole >= answers || this.#readBytes >= bytesMax;
      return this.#isClosed || this.#fault !== null || enough;
    };
    this.#socket.resume();
    while (!isOver()) {
      const before = this.#readBytes;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const silent = setTimeout(resolve, patienceMs);
      await promise;
      clearTimeout(silent);
      if (isOver() || this.#readBytes > before) continue;
      this.#fault = new Error(`${this.#reader.whole} answers, then nothing, and it stays open`);
    }
    if (this.#fault === null) return;
    this.#socket.destroy();
    throw new Error(`${this.#fault.message}\nof ${this.pattern.text}`);
  }

  #take(bytes: Buffer): void {
    this.#readBytes += bytes.length;
    const first = this.#reader.whole;
    try {
      for (const [at, answer] of this.#reader.read(bytes).entries())
        this.#judge(first + at, answer);
    } catch (error) {
      this.#fault ??= error as Error;
    }
    this.#wake();
  }

  /** Each answer must be that of the request whose turn it is. */
  #judge(index: number, answer: Answer): void {
    const { requests } = this.pattern;
    // The bytes behind a too long body are a further request, and a broken one.
    if (index === requests.length && requests.at(-1)!.ends && this.#givesUp(answer)) return;
    assert.ok(index < requests.length, 'more answers came than requests went');
    if (index >= this.#firm) return;
    const kind = requests[index]!;
    const expected = this.#expected.get(kind)!;
    const body = answer.body.toString();
    if (this.#givesUp(answer)) return;
    if ([429, 503].includes(answer.status) && busyCodes.test(body)) return;
    const where = `answer ${index + 1}, to ${kind.name}`;
    const type = answer.headers.get('content-type') ?? '';
    const got = `${answer.status} ${type} ${body.slice(0, 300)}`;
    const same = answer.status === expected.status && type === expected.type;
    assert.ok(same, `${where}, is not ${expected.status} ${expected.type} but ${got}`);
    if (kind.isFixed || answer.status >= 400)
      assert.equal(body, expected.body, `${where}, has another body`);
    const mark = answer.status === 200 ? this.#marks[index]! : '';
    assert.ok(body.includes(mark), `${where}, has no ${mark.slice(0, 60)}: ${got}`);
  }

  /**
   * Where svc cannot read a request, it says so and closes, as node:http does, in place of the
   * answers that it has not begun yet.
   */
  #givesUp({ status, headers }: Answer): boolean {
    const isUnreadable = this.pattern.requests.some(({ ends, closes }) => ends || closes);
    const isLast = headers.get('connection')?.toLowerCase() === 'close';
    return isUnreadable && isLast && [400, 408, 413, 431].includes(status);
  }

  #close(): void {
    // A socket that the client itself destroyed was not closed by svc.
    if (!this.#socket.destroyed || this.#socket.errored !== null) this.#isClosed = true;
    if (!this.#socket.destroyed) this.#socket.destroy();
    this.#wake();
  }
}

let made = 0;

async function turns(count: number): Promise<void> {
  for (let left = Math.floor(count); left > 0; left--) await turn();
}

/** Sends one request of each kind on a connection of its own, while nothing else goes on. */
export async function learn(kind: Kind, port: number): Promise<Expected> {
  const socket = connect({ host: '127.0.0.1', port, localAddress: anotherHost() });
  const reader = new AnswerReader(() => kind.method);
  socket.write(kind.make(`learned-${++made}`).bytes);
  let size = 0;
  for await (const bytes of socket as AsyncIterable<Buffer>) {
    size += bytes.length;
    const [answer] = reader.read(bytes);
    if (answer === undefined) continue;
    const { status, headers, body } = answer;
    return { status, type: headers.get('content-type') ?? '', body: body.toString(), size };
  }
  throw new Error(`no answer to ${kind.name}`);
}
