/** What `node:http` reads out of bytes, without a network, so that a million can be tried. */
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { listenLimits } from '../../../src/lib/listener.ts';
import { createServer } from '../../../src/lib/node-http.ts';
import { readRequest } from '../../../src/lib/quick-way/read-request.ts';

type Read = {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
};

const sentinel = Buffer.from('GET /sentinel HTTP/1.1\r\nhost: x\r\n\r\n');

/** One connection of a server; it is a new one once something could not be read. */
export class NodeReading {
  readonly #server = createServer({ maxHeaderSize: listenLimits.headerBytesMax });
  #socket: Duplex | null = null;
  #read: Read[] = [];
  #isBroken = false;
  #isSeen = false;

  constructor() {
    this.#server.on('request', (request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method, url, headers } = request;
        this.#read.push({ method, url, headers, body: Buffer.concat(parts) });
        if (url === '/sentinel') this.#isSeen = true;
      });
      response.end();
    });
    this.#server.on('clientError', () => {
      this.#isBroken = true;
    });
  }

  /** @returns what was read of the bytes when a request came behind them; null: a fault */
  async read(bytes: Buffer): Promise<readonly Read[] | null> {
    this.#read = [];
    this.#isBroken = false;
    this.#isSeen = false;
    const socket = (this.#socket ??= this.#connect());
    socket.emit('data', bytes);
    if (!this.#isBroken) socket.emit('data', sentinel);
    // All that came is read within one turn; whatever still waits for bytes will get none.
    await setImmediate();
    if (this.#isSeen && !this.#isBroken) return this.#read.slice(0, -1);
    this.#socket = null;
    return null;
  }

  #connect(): Duplex {
    const socket = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() });
    this.#server.emit('connection', socket);
    return socket;
  }
}

/**
 * Whenever the quick way reads bytes as one plain request, `node:http` reads them as that request
 * and nothing else.
 * @returns whether they are one
 */
export async function readAlike(node: NodeReading, bytes: Buffer): Promise<boolean> {
  const found = readRequest(bytes);
  if (found === null || found.missingBytes > 0) return false;
  const { method, url, headers, body } = found;
  const theirs = await node.read(bytes);
  const plainly = theirs?.map((read) => ({ ...read, headers: { ...read.headers } })) ?? null;
  assert.deepEqual(plainly, [{ method, url, headers: { ...headers }, body }], shown(bytes));
  return true;
}

export const shown = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1'));
