/** The same bytes to a listener with the quick way and to one without it: what becomes of each. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { ServerSockets, untilRead } from '../../fake/server-sockets.ts';
import { readAll, startWebhook, type RunningWebhook } from '../../fake/webhook.ts';
import { shown } from './node-reading.ts';
import { good, whole } from './requests.ts';

/** So many turns of the event loop answer the longest row of requests that comes at once. */
const turns = 6;
const prime = Buffer.from(whole(good('{"sender_id":"first","text":"hello"}')), 'latin1');

/** `isOpen`: before the client ended it. */
type Fate = { readonly text: string; readonly isOpen: boolean; readonly messages: unknown };

export class TwoListeners implements AsyncDisposable {
  readonly #quick: RunningWebhook;
  readonly #plain: RunningWebhook;
  readonly #sockets = new ServerSockets();

  private constructor(quick: RunningWebhook, plain: RunningWebhook) {
    this.#quick = quick;
    this.#plain = plain;
  }

  static async open(): Promise<TwoListeners> {
    const limits = { wrongBearersFree: Infinity };
    const quick = await startWebhook({ ownHttp: true }, limits);
    return new TwoListeners(quick, await startWebhook({ ownHttp: false }, limits));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sockets[Symbol.dispose]();
    await this.#quick[Symbol.asyncDispose]();
    await this.#plain[Symbol.asyncDispose]();
  }

  /**
   * @param pieces are read one by one
   * @param isPrimed a plain request comes before them
   */
  async compare(pieces: readonly Buffer[], isPrimed = true): Promise<void> {
    const all = isPrimed ? [prime, ...pieces] : pieces;
    const [quick, plain] = await Promise.all([
      this.#fate(this.#quick, all),
      this.#fate(this.#plain, all),
    ]);
    assert.deepEqual(quick, plain, pieces.map(shown).join(' + '));
  }

  async #fate(webhook: RunningWebhook, pieces: readonly Buffer[]): Promise<Fate> {
    const before = webhook.accept.messages.length;
    const client = connect({ port: webhook.port, host: '127.0.0.1', noDelay: true });
    await once(client, 'connect');
    const reading = readAll(client);
    const server = await this.#sockets.of(client);
    let bytes = 0;
    for (const piece of pieces) {
      if (server.destroyed || server.writableEnded) break;
      client.write(piece);
      bytes += piece.length;
      await untilRead(server, bytes);
      for (let turn = 0; turn < turns; turn++) await setImmediate();
    }
    const isOpen = !server.destroyed && !server.writableEnded;
    client.end();
    const text = await reading;
    const messages = webhook.accept.messages.slice(before);
    return { text: text.replaceAll(/^Date: .*$/gm, 'Date: now'), isOpen, messages };
  }
}
