/**
 * A Bot API with a script, for tests of the channel alone. It gives each call the planned answer of
 * its method, else that of a good server. The faithful fake is `telegram.ts`.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../support/waiting.ts';
import { isForm, readForm } from './form.ts';

export const token = '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw0';
export const bot = { id: 110201543, is_bot: true, first_name: 'Svc', username: 'svc_test_bot' };

type Params = Readonly<Record<string, unknown>>;
export type Call = { readonly method: string; readonly params: Params; readonly at: number };
/** `hang`: no answer ever. `cut`: the connection ends instead. `page`: not JSON. */
export type Planned =
  | 'hang'
  | 'cut'
  | { readonly page: string; readonly status: number }
  | { readonly ok: true; readonly result: unknown }
  | {
      readonly ok: false;
      readonly error_code: number;
      readonly description: string;
      readonly parameters?: Params;
    };

export class ScriptedTelegram implements AsyncDisposable {
  readonly calls: Call[] = [];
  /** The unconfirmed updates. */
  readonly pending: { readonly update_id: number }[] = [];
  /** The most polls open at once. */
  pollsAtOnceMost = 0;
  readonly #planned = new Map<string, Planned[]>();
  readonly #server: Server;
  readonly #secondMs: number;
  #polls = 0;
  #changed = Promise.withResolvers<void>();

  private constructor(secondMs: number) {
    this.#secondMs = secondMs;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** @param secondMs how long a second of a long poll lasts here */
  static async start(secondMs = 1_000): Promise<ScriptedTelegram> {
    const telegram = new ScriptedTelegram(secondMs);
    telegram.#server.listen(0, '127.0.0.1');
    await once(telegram.#server, 'listening');
    return telegram;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next calls of that method get these answers, one each. */
  plan(method: string, ...answers: readonly Planned[]): void {
    this.#planned.set(method, [...(this.#planned.get(method) ?? []), ...answers]);
  }

  push(...updates: readonly { readonly update_id: number }[]): void {
    this.pending.push(...updates);
    this.#change();
  }

  callsOf(method: string): readonly Call[] {
    return this.calls.filter((call) => call.method === method);
  }

  /** Resolves once that holds. */
  async until(holds: () => boolean): Promise<void> {
    await until(String(holds), holds);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const [, bearer, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? [];
    const params = await paramsOf(Buffer.concat(parts), request.headers['content-type']);
    this.calls.push({ method, params, at: Date.now() });
    this.#change();
    const planned = this.#planned.get(method)?.shift() ?? (await this.#usual(method, params));
    if (bearer !== token) return send(response, unauthorized);
    if (planned === 'hang') return;
    if (planned === 'cut') return void request.socket.destroy();
    send(response, planned);
  }

  async #usual(method: string, params: Params): Promise<Planned> {
    switch (method) {
      case 'getMe':
        return { ok: true, result: bot };
      case 'getUpdates':
        return { ok: true, result: await this.#updates(params) };
      case 'sendMessage':
        return { ok: true, result: { message_id: 1 } };
      default:
        return { ok: true, result: true };
    }
  }

  async #updates(params: Params): Promise<unknown> {
    const offset = Number(params['offset'] ?? 0);
    while (this.pending.length > 0 && this.pending[0]!.update_id < offset) this.pending.shift();
    this.#polls++;
    this.pollsAtOnceMost = Math.max(this.pollsAtOnceMost, this.#polls);
    const endAt = Date.now() + Number(params['timeout'] ?? 0) * this.#secondMs;
    const found = () => this.pending.filter(({ update_id }) => update_id >= offset);
    while (found().length === 0 && Date.now() < endAt) {
      const over = new AbortController();
      const end = pause(endAt - Date.now(), null, { signal: over.signal }).catch(() => {});
      await Promise.race([this.#changed.promise, end]);
      over.abort();
    }
    this.#polls--;
    return found().slice(0, Number(params['limit'] ?? 100));
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

async function paramsOf(body: Buffer, type = ''): Promise<Params> {
  const form = isForm(type) ? await readForm(body, type) : null;
  if (form !== null) return { ...form.fields, files: form.files };
  return JSON.parse(body.length === 0 ? '{}' : body.toString()) as Params;
}

const unauthorized = { ok: false, error_code: 401, description: 'Unauthorized' } as const;

function send(response: ServerResponse, planned: Exclude<Planned, 'hang' | 'cut'>): void {
  if ('page' in planned) {
    response.writeHead(planned.status, { 'content-type': 'text/html' }).end(planned.page);
    return;
  }
  const status = planned.ok ? 200 : planned.error_code;
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(planned));
}

/** A private message of a person, as an update. */
export function said(id: number, text: string, more: Params = {}) {
  const from = { id: 501, is_bot: false, first_name: 'Ann' };
  const chat = { id: 501, type: 'private', first_name: 'Ann' };
  const message = { message_id: id, date: 1_700_000_000, from, chat, text, ...more };
  return { update_id: id, message };
}
