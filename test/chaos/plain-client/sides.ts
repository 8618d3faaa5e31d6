/** Gives both clients the same answer, and returns the outcome of each. */
import assert from 'node:assert/strict';
import { createDeadlines } from '../../../src/lib/deadlines.ts';
import {
  Connections,
  Exchange,
  type HttpRequest,
  type HttpResult,
  type Opener,
} from '../../../src/lib/http-client/exchange.ts';
import * as undici from '../../../src/lib/http-client/undici-connection.ts';
import { later, steadyNow } from '../../../src/lib/clock.ts';
import { plainOpener, writeRequest } from '../../../src/lib/plain-client/plain-connection.ts';
import { Stopper } from '../../../src/lib/stop.ts';
import { asPlainSocket, BufferSocket, type MemorySocket, StreamSocket } from './memory-socket.ts';
import { patienceMs } from '../../support/waiting.ts';

export type Case = {
  /** The server's answer, read by read. */
  readonly reads: readonly Buffer[];
  readonly ending: 'open' | 'end' | 'reset';
  /** The next read comes before the event loop has turned. */
  readonly atOnce?: boolean;
  /** undici, where it is needed, loads only after some turns of the event loop. */
  readonly slowLoad?: boolean;
  /** Bytes that come while no request is open; null: none. */
  readonly unasked?: Buffer | null;
  readonly bodyBytesMax?: number;
  readonly discardBody?: boolean;
};

export type Outcome = {
  readonly result: HttpResult | 'none';
  /** The bytes that the server got. */
  readonly written: string;
  /** Whether the second request uses the connection of the first, and whether it is sent at all. */
  readonly fate: 'reused' | 'new' | 'none';
  readonly second: HttpResult | 'none';
};

const url = new URL('http://home.test:8080/path?q=1');
const deadlines = createDeadlines();
const secondAnswer = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond');

class Side {
  readonly sockets: MemorySocket[] = [];
  readonly #connections: Connections;
  readonly #isPlain: boolean;

  constructor(isPlain: boolean, loadTurns: number) {
    this.#isPlain = isPlain;
    const open = isPlain ? this.#plain(loadTurns) : this.#byUndici;
    this.#connections = new Connections(10, open);
  }

  send(more: Pick<Case, 'bodyBytesMax' | 'discardBody'>) {
    const request: HttpRequest = {
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', accept: '*/*' },
      body: '{"ä":1}',
      deadlineAt: later(steadyNow(), 10 * patienceMs),
      bodyBytesMax: more.bodyBytesMax ?? 1_000_000,
      discardBody: more.discardBody ?? false,
    };
    const sent = { stopper: new Stopper(), result: 'none' as HttpResult | 'none' };
    const note = (result: HttpResult): void => void (sent.result = result);
    const exchange = new Exchange(request, sent.stopper, note, assert.ifError);
    exchange.watch(deadlines);
    if (this.#isPlain) exchange.text = writeRequest(request);
    this.#connections.take(exchange);
    return sent;
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  #plain(loadTurns: number): Opener {
    const connect = (options: ConstructorParameters<typeof BufferSocket>[0]) => {
      const socket = new BufferSocket(options);
      this.sockets.push(socket);
      return asPlainSocket(socket);
    };
    const get = async (): Promise<undici.Undici> => {
      await turns(loadTurns);
      return undici;
    };
    return plainOpener({ get }, { url, nearOnly: false, connectMs: 60_000, connect });
  }

  readonly #byUndici: Opener = (owner) => {
    const connect = (_where: object, connected: (error: null, socket: never) => void): void => {
      const socket = new StreamSocket();
      this.sockets.push(socket);
      setImmediate(() => connected(null, socket as never));
    };
    return new undici.UndiciConnection(url.origin, connect, owner);
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** As long as between two reads that the system has both ready. */
const tick = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

async function turns(count: number, until = (): boolean => false): Promise<void> {
  for (let at = 0; at < count && !until(); at++) await turn();
}

/** Runs a case with the plain client, or with undici alone. */
export async function outcomeOf(isPlain: boolean, it: Case): Promise<Outcome> {
  const loadTurns = it.slowLoad === true ? 5 : 0;
  const side = new Side(isPlain, loadTurns);
  const first = side.send(it);
  await turns(9, () => side.sockets[0]?.written.endsWith('}') === true);
  const socket = side.sockets[0]!;
  for (const bytes of it.reads) {
    socket.brings(bytes);
    await (it.atOnce === true ? tick() : turns(2));
  }
  if (it.ending === 'end') socket.ends();
  if (it.ending === 'reset') socket.resets();
  await turns(3 + loadTurns);
  first.stopper.stop();
  await turns(4);
  const { written } = socket;
  if (it.unasked !== undefined && it.unasked !== null) {
    socket.brings(it.unasked);
    await turns(3);
  }
  const second = side.send({});
  const asked = (): MemorySocket | undefined =>
    side.sockets.find((each) => (each === socket ? each.written !== written : each.written !== ''));
  await turns(9, () => asked() !== undefined);
  const over = asked();
  over?.brings(secondAnswer);
  await turns(3);
  second.stopper.stop();
  await side.close();
  const fate = over === undefined ? 'none' : over === socket ? 'reused' : 'new';
  return { result: first.result, written, fate, second: second.result };
}
