/**
 * One HTTP request to one address. The caller has checked the address, which is a literal. The
 * client resolves no name, follows no redirect, shares and keeps no connection, and reads no proxy
 * setting from the environment. A certificate must be valid for the host in the URL, whatever the
 * environment says. The client reads the body only up to a limit. lib/collect-body.ts limits the
 * bytes outside the body.
 *
 * The other client, lib/http-client.ts, is for addresses that the operator wrote. It shares
 * connections and resolves names: see docs/decisions/0011-network-cages.md.
 *
 * Format: HTTP/1.1 by node:http and node:https.
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Agent as SecureAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { AnswerBody } from './collect-body.ts';
import type { SteadyTime } from './clock.ts';
import type { Deadline, Deadlines } from './deadlines.ts';
import { codeOf } from './http-client.ts';
import { type HttpFault } from './http-client/exchange.ts';
import { Agent, loadHttps, request as requestPlain } from './node-http.ts';

/**
 * A part of a form with files. Format: RFC 7578, with names quoted like in browsers (WHATWG HTML,
 * multipart/form-data).
 */
export type FormPart = {
  readonly name: string;
  readonly value: string | Uint8Array;
  /** For a file; absent: the part is a field. */
  readonly file?: { readonly name: string; readonly type: string };
};

/**
 * Builds the body of the form. Pure.
 * @param boundary occurs in no part: a random one
 */
export function multipart(
  parts: readonly FormPart[],
  boundary: string = crypto.randomUUID(),
): { readonly contentType: string; readonly body: Uint8Array } {
  const chunks: Uint8Array[] = [];
  const add = (text: string): void => void chunks.push(Buffer.from(text));
  for (const { name, value, file } of parts) {
    add(`--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"`);
    if (file !== undefined) {
      add(`; filename="${quoted(file.name)}"\r\ncontent-type: ${lineOf(file.type)}`);
    }
    add('\r\n\r\n');
    chunks.push(typeof value === 'string' ? Buffer.from(value) : value);
    add('\r\n');
  }
  add(`--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat(chunks),
  };
}

const quotes: Readonly<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A' };

function quoted(name: string): string {
  return name.toWellFormed().replace(/["\r\n]/g, (one) => quotes[one]!);
}

function lineOf(type: string): string {
  return /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w-]+)*$/.test(type) ? type : 'application/octet-stream';
}

export type PinnedRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  /**
   * The address to connect to, whatever the URL's host resolves to: IPv4, or IPv6 without brackets.
   */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** The deadline of the whole request. */
  readonly deadlineAt: SteadyTime;
  /** The deadline of the connection, TLS included. */
  readonly connectDeadlineAt: SteadyTime;
  readonly bodyBytesMax: number;
  /** Called once, with status and headers; false: the client does not read the body. */
  wantsBody(status: number, headers: IncomingHttpHeaders): boolean;
};

export type PinnedResult =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Buffer;
      /** False: the body is longer than the limit, or was not wanted. */
      readonly whole: boolean;
    }
  | {
      readonly kind: 'fault';
      /** `answer_too_large`: the bytes around the body had no end. */
      readonly fault: HttpFault;
      /** The request may have reached the other side. */
      readonly sent: boolean;
      /** The status of an answer that broke off; null: no answer had begun. */
      readonly status: number | null;
      /** The system's name of the error, or null. */
      readonly code: string | null;
    };

const headerBytesMax = 16 * 1024;

const plainAgent = new Agent({ keepAlive: false });
let secureAgent: SecureAgent | null = null;

/** @param signal ends the request at once */
export function sendPinned(
  request: PinnedRequest,
  deadlines: Deadlines,
  signal: AbortSignal,
): Promise<PinnedResult> {
  return new Promise((resolve) => {
    const exchange = new PinnedExchange(request, signal, resolve);
    if (signal.aborted) exchange.cancel();
    else exchange.begin(deadlines);
  });
}

/** Begun → connected → answering → settled, once; then its connection is closed. */
class PinnedExchange {
  readonly #request: PinnedRequest;
  readonly #signal: AbortSignal;
  readonly #resolve: (result: PinnedResult) => void;
  readonly #deadlines: Deadline[] = [];
  readonly #body = new AnswerBody();
  #call: ClientRequest | null = null;
  #connected = false;
  #response: IncomingMessage | null = null;
  #settled = false;

  constructor(
    request: PinnedRequest,
    signal: AbortSignal,
    resolve: (result: PinnedResult) => void,
  ) {
    this.#request = request;
    this.#signal = signal;
    this.#resolve = resolve;
  }

  begin(deadlines: Deadlines): void {
    const { deadlineAt, connectDeadlineAt, body } = this.#request;
    const call = this.#open();
    this.#call = call;
    call.on('socket', (socket) => {
      const secure = 'encrypted' in socket;
      this.#connected = !secure && !socket.connecting;
      socket.once(secure ? 'secureConnect' : 'connect', () => (this.#connected = true));
      // In addition to Node's own listener, which reads the answer.
      socket.on('data', () => {
        if (this.#body.isFlooded(socket.bytesRead)) this.#fail('answer_too_large');
      });
    });
    call.on('information', () => {
      if (this.#body.addInterim()) this.#fail('answer_too_large');
    });
    call.on('response', (response) => this.#readAnswer(response));
    call.on('error', (error) => this.#failConnection(codeOf(error)));
    // For example, an answer that switches to another protocol ends like this.
    call.on('close', () => this.#failConnection(null));
    this.#signal.addEventListener('abort', this.cancel);
    this.#deadlines.push(
      deadlines.at(deadlineAt, () => this.#fail(this.#connected ? 'timeout' : 'connect_timeout')),
      deadlines.at(connectDeadlineAt, () => {
        if (!this.#connected) this.#fail('connect_timeout');
      }),
    );
    call.end(body ?? undefined);
  }

  readonly cancel = (): void => this.#fail('cancelled');

  #open(): ClientRequest {
    const { method, url, address, headers } = this.#request;
    const common = {
      method,
      host: address,
      path: url.pathname + url.search,
      headers: { ...headers, host: url.host, connection: 'close' },
      lookup: neverLookUp,
      maxHeaderSize: headerBytesMax,
      insecureHTTPParser: false,
    };
    if (url.protocol !== 'https:') {
      return requestPlain({ ...common, port: url.port || 80, agent: plainAgent });
    }
    const https = loadHttps();
    secureAgent ??= new https.Agent({ keepAlive: false, maxCachedSessions: 0 });
    return https.request({
      ...common,
      port: url.port || 443,
      agent: secureAgent,
      // A client sends no address as a server name (RFC 6066). Node still checks the certificate
      // against it.
      servername: isIP(url.hostname.replaceAll(/[[\]]/g, '')) === 0 ? url.hostname : '',
      rejectUnauthorized: true,
    });
  }

  #readAnswer(response: IncomingMessage): void {
    this.#response = response;
    const { bodyBytesMax } = this.#request;
    if (!this.#request.wantsBody(response.statusCode!, response.headers)) {
      return this.#settleAnswer(false);
    }
    response.on('data', (part: Buffer) => {
      const room = bodyBytesMax - this.#body.bytes;
      this.#body.add(part.length > room ? part.subarray(0, room) : part);
      if (part.length > room) this.#settleAnswer(false);
    });
    response.on('end', () => this.#settleAnswer(true));
    response.on('error', (error) => this.#failConnection(codeOf(error)));
  }

  #settleAnswer(whole: boolean): void {
    const { statusCode: status, headers } = this.#response!;
    this.#settle({ kind: 'answer', status: status!, headers, body: this.#body.read(), whole });
  }

  #failConnection(code: string | null): void {
    this.#fail(this.#connected ? 'connection_lost' : 'connect_failed', code);
  }

  #fail(
    fault: Extract<PinnedResult, { kind: 'fault' }>['fault'],
    code: string | null = null,
  ): void {
    const status = this.#response?.statusCode ?? null;
    this.#settle({ kind: 'fault', fault, sent: this.#connected, status, code });
  }

  #settle(result: PinnedResult): void {
    if (this.#settled) return;
    this.#settled = true;
    for (const deadline of this.#deadlines) deadline.cancel();
    this.#signal.removeEventListener('abort', this.cancel);
    this.#body.clear();
    this.#call?.destroy();
    this.#resolve(result);
  }
}

const neverLookUp: LookupFunction = (_name, _options, done) => {
  done(new Error('only addresses are connected to'), '');
};
