/**
 * A connection by undici: its own Client, which has one socket at a time. This file is loaded with
 * the first request that needs it.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { isFar, lookupNear, farAddressError } from '../private-connector.ts';
import {
  Connection,
  identityEncoding,
  needsIdentityEncoding,
  type Connections,
  type Exchange,
  type AnswerHeaders,
} from './exchange.ts';
import { UndiciSocket } from './undici-socket.ts';

type Connector = buildConnector.connector;

/** The exports that the other files load. */
export type Undici = {
  readonly UndiciConnection: typeof UndiciConnection;
  readonly connectorTo: typeof connectorTo;
  readonly connectorFrom: typeof connectorFrom;
};

/**
 * @param nearOnly connects only to near addresses
 * @param timeout the time for connecting, in milliseconds
 */
export function connectorTo(nearOnly: boolean, timeout: number): Connector {
  if (!nearOnly) return buildConnector({ timeout });
  const connect = buildConnector({ timeout, lookup: lookupNear });
  return (where, connected) => {
    if (isFar(where.hostname)) queueMicrotask(() => connected(farAddressError(), null));
    else connect(where, connected);
  };
}

/**
 * @param socket the first connection; it is connected already
 * @param otherwise makes the later connections
 */
export function connectorFrom(socket: Duplex, otherwise: Connector): Connector {
  let first: Duplex | null = socket;
  return (where, connected) => {
    const given = first;
    first = null;
    if (given === null) otherwise(where, connected);
    else queueMicrotask(() => connected(null, given as Socket));
  };
}

/** Gets the events of one request at a time, and passes them on to its exchange. */
export class UndiciConnection extends Connection implements Dispatcher.DispatchHandler {
  readonly #origin: string;
  readonly #client: Client;
  readonly #owner: Connections;
  /** The exchange under way, even if it is settled. */
  #exchange: Exchange | null = null;
  /** The socket has the request. */
  #begun = false;
  #socket: UndiciSocket | null = null;
  #bytesBefore = 0;
  /** The interim answers of the present exchange, as far as undici has read them. */
  #interims = 0;

  constructor(origin: string, connect: Connector, owner: Connections) {
    super();
    this.#origin = origin;
    this.#owner = owner;
    this.#client = new Client(origin, {
      pipelining: 1,
      // Many servers close an idle connection after 5 s without saying so beforehand.
      keepAliveTimeout: 4_000,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 64 * 1024,
      connect: (where, done) => {
        connect(where, (...connected) => {
          // With an error, undici passes no socket.
          if (connected[0] === null) done(null, this.#wrapSocket(connected[1]));
          else done(...connected);
        });
      },
    });
    this.#client.on('drain', () => this.#free());
    this.#client.on('connectionError', () => this.#gone());
    this.#client.on('disconnect', () => {
      this.#socket = null;
      // A request that has not begun is not lost: undici connects anew for it.
      if (this.#exchange === null || this.#begun) this.#gone();
    });
  }

  begin(exchange: Exchange): void {
    this.#exchange = exchange;
    this.#bytesBefore = this.#socket?.bytesRead ?? 0;
    const { method, url, body } = exchange.request;
    const given = exchange.request.headers;
    const needsEncoding = needsIdentityEncoding(exchange.request);
    const headers = needsEncoding
      ? { ...given, [identityEncoding.name]: identityEncoding.value }
      : given;
    const options = {
      origin: this.#origin,
      path: url.pathname + url.search,
      method,
      headers: headers as Record<string, string>,
      body,
    };
    this.#client.dispatch(options, this);
    // A request that undici refuses is over by now, and no `drain` follows.
    if (this.#exchange !== null) return;
    if (this.#socket === null) this.#gone();
    else this.#free();
  }

  async destroy(): Promise<void> {
    await this.#client.destroy();
    this.#owner.gone(this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#begun = true;
    this.#interims = 0;
    this.#socket?.expectAnswer();
    this.#exchange?.begun(() => controller.abort(givenUpError));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    if (status < 200) this.#interims++;
    this.#exchange?.head(status, headers);
  }

  onResponseData(_: Dispatcher.DispatchController, part: Buffer): void {
    this.#exchange?.part(part);
  }

  onResponseEnd(): void {
    this.#takeExchange()?.end();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#takeExchange()?.failed(error, this.#socket?.finalStatus(this.#interims));
  }

  #takeExchange(): Exchange | null {
    const exchange = this.#exchange;
    this.#exchange = null;
    this.#begun = false;
    return exchange;
  }

  #wrapSocket(given: Duplex): Socket {
    const socket = given instanceof UndiciSocket ? given : UndiciSocket.over(given);
    this.#socket = socket;
    this.#bytesBefore = 0;
    socket.on('readable', () => this.#exchange?.countBytes(socket.bytesRead - this.#bytesBefore));
    // It has all members of a socket that undici uses.
    return socket as Duplex as Socket;
  }

  /**
   * Called one turn of the event loop after the answer, so that a TLS socket has reported its sent
   * bytes.
   */
  #free(): void {
    if (this.#exchange !== null) return;
    // A server that has answered may never read the rest of the request.
    if (this.#socket !== null && this.#socket.writableLength > 0) this.#gone();
    else this.#owner.freed(this);
  }

  #gone(): void {
    this.#owner.gone(this);
    if (!this.#client.destroyed) void this.#client.destroy();
  }
}

const givenUpError = new Error('given up');
