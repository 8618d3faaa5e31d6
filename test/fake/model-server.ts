/** The base of the fake model servers: a real HTTP server on a free port, with a script. */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { freePort } from '../support/program.ts';
import { closedPort } from './closed-port.ts';
import { upstreamWords, type FailureName } from './failures.ts';

/** A tool call in a script. The wire makes an id where the script gives none. */
export type ScriptedCall = {
  readonly name: string;
  readonly arguments: unknown;
  readonly id?: string;
};

/**
 * The answer to one request, once `after` resolves. `more` overrides fields of the wire's answer.
 */
export type Step =
  | {
      readonly answer: string;
      readonly calls?: readonly ScriptedCall[];
      readonly after?: Promise<void>;
      readonly delayMs?: number;
      readonly more?: object;
      /** For streams: awaited after each piece; pieces count from 0. */
      readonly between?: (piece: number) => Promise<void> | void;
    }
  | {
      readonly fail: FailureName;
      readonly after?: Promise<void>;
      readonly delayMs?: number;
      readonly retryAfter?: string;
      readonly location?: string;
    }
  | {
      readonly status: number;
      readonly body: string;
      readonly headers?: Record<string, string>;
      readonly after?: Promise<void>;
      readonly delayMs?: number;
    };

/** One step for every request, or a function of the request and of the number of earlier ones. */
export type Script = Step | ((call: ModelCall, before: number) => Step);

export type ModelCall = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The request's text, and its JSON. */
  readonly text: string;
  readonly body: unknown;
  readonly at: number;
  /** Resolves at the end: with the answer sent, or when the client went away first. */
  readonly over: Promise<'answered' | 'gone'>;
};

/** The differences between two wires. */
export type FakeWire = {
  /** The address on which it listens; by default 127.0.0.1. */
  readonly host?: string | undefined;
  /** By default a free one. */
  readonly port?: number | undefined;
  /** The base path under the origin: `''` or `/v1`. */
  readonly base: string;
  readonly chatPath: string;
  /** Called for each question before its answer. */
  heard?(call: ModelCall): void;
  answer(text: string, call: ModelCall, calls: readonly ScriptedCall[]): object;
  /** The same answer in pieces, as the wire streams it; absent: the wire has no streams. */
  streamed?(answer: object): { readonly type: string; readonly pieces: readonly string[] };
  error(status: number, words: string): object;
  /** The answer to a request that the real server refuses; null: it accepts the request. */
  refuses?(body: unknown): { readonly status: number; readonly body: object } | null;
  overflow(words: string): { readonly status: number; readonly body: object };
  /** A path of a probe by POST. */
  readonly showPath?: string;
  /** The answer to a GET of this path, or to that POST; null: 404. */
  look(path: string, body: unknown): object | null;
};

export interface FakeModel extends AsyncDisposable {
  /** The value for `base_url`; while it refuses, the address of a closed port. */
  readonly url: string;
  readonly origin: string;
  /** Questions (POST), in order. */
  readonly calls: readonly ModelCall[];
  /** Probes, in order. */
  readonly looks: readonly ModelCall[];
  /** TCP connections ever opened. */
  readonly connections: number;
  /** Sets the answers from now on, to questions or to probes. */
  script(next: Script, on?: 'calls' | 'looks'): Promise<void>;
  /** The question with this number, from 0; waits until it arrives. */
  call(index: number): Promise<ModelCall>;
}

export async function startModelServer(wire: FakeWire, first: Script): Promise<FakeModel> {
  const fake = new ModelServer(wire);
  await fake.open();
  await fake.script(first);
  return fake;
}

class ModelServer implements FakeModel {
  readonly calls: ModelCall[] = [];
  readonly looks: ModelCall[] = [];
  connections = 0;
  #port = 0;
  readonly #host: string;
  readonly #wire: FakeWire;
  readonly #server: Server;
  #onCalls: Script = { answer: 'hello' };
  #onLooks: Script | null = null;
  #waiting: { index: number; resolve: (call: ModelCall) => void }[] = [];

  constructor(wire: FakeWire) {
    this.#wire = wire;
    this.#host = wire.host ?? '127.0.0.1';
    this.#port = wire.port ?? 0;
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch(() => response.destroy());
    });
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', () => this.connections++);
  }

  get origin(): string {
    return `http://${this.#host}:${this.#server.listening ? this.#port : closedPort}`;
  }

  get url(): string {
    return this.origin + this.#wire.base;
  }

  async open(): Promise<void> {
    // Keeps the port reserved while the server refuses.
    this.#port ||= await freePort();
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, this.#host, resolve);
    });
  }

  async script(next: Script, on: 'calls' | 'looks' = 'calls'): Promise<void> {
    if (on === 'looks') this.#onLooks = next;
    else this.#onCalls = next;
    const refused = typeof next === 'object' && 'fail' in next && next.fail === 'refused';
    if (refused) await this[Symbol.asyncDispose]();
    else if (!this.#server.listening) await this.open();
  }

  call(index: number): Promise<ModelCall> {
    const there = this.calls[index];
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve) => this.#waiting.push({ index, resolve }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    request.setEncoding('utf8');
    for await (const part of request) text += part as string;
    const call: ModelCall = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      text,
      body: jsonOf(text),
      at: Date.now(),
      over: new Promise((resolve) => {
        response.once('close', () => resolve(response.writableFinished ? 'answered' : 'gone'));
      }),
    };
    const { base, showPath } = this.#wire;
    const isShow = showPath !== undefined && call.path === base + showPath;
    if (call.method === 'GET' || isShow) return this.#look(call, response);
    this.calls.push(call);
    this.#waiting = this.#waiting.filter(({ index, resolve }) => {
      if (index >= this.calls.length) return true;
      resolve(this.calls[index]!);
      return false;
    });
    if (call.path !== this.#wire.base + this.#wire.chatPath) return sendHtml(response, 404);
    const refused = this.#wire.refuses?.(call.body) ?? null;
    if (refused !== null) return sendJson(response, refused.status, refused.body);
    const script = this.#onCalls;
    const step = typeof script === 'function' ? script(call, this.calls.length - 1) : script;
    await this.#play(step, call, response);
  }

  async #look(call: ModelCall, response: ServerResponse): Promise<void> {
    this.looks.push(call);
    const script = this.#onLooks;
    if (script !== null) {
      const step = typeof script === 'function' ? script(call, this.looks.length - 1) : script;
      return this.#play(step, call, response);
    }
    const { base } = this.#wire;
    const path = call.path.startsWith(base) ? call.path.slice(base.length) : null;
    const body = path === null ? null : this.#wire.look(path, call.body);
    if (body === null) sendHtml(response, 404);
    else sendJson(response, 200, body);
  }

  async #play(step: Step, call: ModelCall, response: ServerResponse): Promise<void> {
    if ('after' in step) await step.after;
    if (step.delayMs !== undefined) {
      await new Promise((resolve) => setTimeout(resolve, step.delayMs));
    }
    if (response.destroyed) return;
    if ('answer' in step) {
      const { answer, calls = [], more } = step;
      this.#wire.heard?.(call);
      const whole = { ...this.#wire.answer(answer, call, calls), ...more };
      const streamed = isStream(call) ? this.#wire.streamed?.(whole) : undefined;
      return streamed === undefined
        ? sendJson(response, 200, whole)
        : stream(streamed, step.between, response);
    }
    if ('status' in step) {
      response.writeHead(step.status, { 'content-type': 'application/json', ...step.headers });
      response.end(step.body);
      return;
    }
    fail(step, this.#wire, call, response);
  }
}

/** Words as models write them: each with the space before it. */
export const wordsOf = (text: string): readonly string[] => text.match(/\s*\S+|\s+$/g) ?? [];

const isStream = ({ body }: ModelCall): boolean =>
  (body as { stream?: unknown } | null)?.stream === true;

async function stream(
  { type, pieces }: { readonly type: string; readonly pieces: readonly string[] },
  between: ((piece: number) => Promise<void> | void) | undefined,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(200, { 'content-type': type });
  for (const [at, piece] of pieces.entries()) {
    if (response.destroyed) return;
    await new Promise<void>((written) => {
      response.write(piece, () => written());
    });
    await between?.(at);
  }
  response.end();
}

/** Produces the failure of failures.ts with that name. */
function fail(
  step: Extract<Step, { fail: FailureName }>,
  wire: FakeWire,
  call: ModelCall,
  response: ServerResponse,
): void {
  const words = `${upstreamWords} ${call.headers.authorization ?? ''} ${call.text}`;
  const { fail: name } = step;
  switch (name) {
    case 'refused':
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'cut':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 });
      response.write(JSON.stringify(wire.answer(upstreamWords, call, [])).slice(0, 60), () => {
        response.destroy();
      });
      return;
    case 'hang':
      return;
    case 'drip':
      return drip(response);
    case '429':
    case '503':
    case '500':
    case '401':
    case '404':
    case '400':
      return sendJson(response, Number(name), wire.error(Number(name), words));
    case '429-retry-after':
      response.setHeader('retry-after', step.retryAfter ?? '7');
      return sendJson(response, 429, wire.error(429, words));
    case 'overflow': {
      const { status, body } = wire.overflow(words);
      return sendJson(response, status, body);
    }
    case 'redirect':
      response.setHeader('location', step.location ?? '/elsewhere');
      return sendJson(response, 307, {});
    case 'malformed':
      response.setHeader('content-type', 'application/json');
      response.end(`{"words": "${upstreamWords}", "message": {"content": "he`);
      return;
    case 'wrong-shape':
      return sendJson(response, 200, { words: upstreamWords, message: 7, choices: { 0: [] } });
    case 'empty':
      return sendJson(response, 200, wire.answer('', call, []));
    case 'oversized':
      return sendJson(response, 200, wire.answer('a'.repeat(5 * 1024 * 1024), call, []));
    case 'html':
      return sendHtml(response, 200);
    default:
      name satisfies never;
  }
}

/** Between two bytes of an endless answer. A client that listens longer gets more bytes. */
const dripMs = 10;

function drip(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), dripMs);
  response.once('close', () => clearInterval(timer));
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

function sendHtml(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html' });
  response.end(`<!doctype html><title>${upstreamWords}</title>`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
