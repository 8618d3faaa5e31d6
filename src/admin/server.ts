/**
 * The admin server: read-only pages about the service, on a listener of its own.
 *
 * Order of checks: host name (421) → path (404) → method (405). Every answer carries the security
 * headers; every error is problem+json.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ListenAddress } from '../config/config.ts';
import type { Held, Listeners } from '../lib/listener.ts';
import type { AdminPorts } from './admin.ts';
import { problem, securityHeaders } from './answer.ts';
import type { Answer } from './answer.ts';
import { isKnownHost } from './auth.ts';
import { MetricsPage } from './metrics.ts';
import { routesOf } from './routes/table.ts';
import type { Route } from './routes/route.ts';

export type AdminOptions = {
  readonly address: ListenAddress;
  /** Host names, besides this machine's own, under which a loopback bind may be read. */
  readonly allowedHosts: readonly string[];
  readonly listeners: Listeners;
  /** The folder of the pages, one folder each. */
  readonly webRoot: string;
};

export interface AdminServer {
  /** Binds the address. What a problem there means (an end, a warning) is the caller's to say. */
  open(): Promise<AdminOpened | AdminProblem>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type AdminOpened = { readonly kind: 'opened'; readonly port: number };
/** `code` is the system's (EADDRINUSE …); `message` names the address and the next step. */
export type AdminProblem = {
  readonly kind: 'problem';
  readonly code: string;
  readonly message: string;
};

export function createAdminServer(ports: AdminPorts, options: AdminOptions): AdminServer {
  return new Server(ports, options);
}

const graceMs = 1_000;

class Server implements AdminServer {
  readonly #ports: AdminPorts;
  readonly #options: AdminOptions;
  readonly #metrics: MetricsPage;
  readonly #routes: ReadonlyMap<string, Route>;
  #held: Held | null = null;

  constructor(ports: AdminPorts, options: AdminOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#metrics = new MetricsPage(ports);
    this.#routes = routesOf(ports, this.#metrics, options.webRoot);
  }

  async open(): Promise<AdminOpened | AdminProblem> {
    const { address, listeners } = this.#options;
    const held = await listeners.take({ host: address.host, port: address.port });
    if (held.kind === 'fault') {
      const { code } = held;
      const cause = code === 'EADDRINUSE' ? 'something else listens there' : code;
      const message =
        `The admin server cannot listen on ${address.text}: ${cause}. ` +
        'Free the address, or set another one as observability.addr.';
      return { kind: 'problem', code, message };
    }
    this.#held = held;
    held.answer((request, response) => void this.#respond(request, response));
    return { kind: 'opened', port: held.port };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const held = this.#held;
    this.#held = null;
    await held?.release(graceMs);
    this.#metrics[Symbol.dispose]();
  }

  /** Never rejects. */
  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let answer: Answer;
    try {
      answer = await this.#answer(request);
    } catch (error) {
      this.#ports.events.faulted({ where: 'the admin server', error });
      answer = problem(500, 'fault', 'Something went wrong in svc itself; its log says more.');
    }
    const body = Buffer.from(answer.body);
    response.writeHead(answer.status, {
      ...securityHeaders,
      'content-type': answer.contentType,
      'content-length': body.length,
      ...answer.headers,
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  #answer(request: IncomingMessage): Answer | Promise<Answer> {
    const { host, path } = targetOf(request);
    const route = this.#routes.get(path);
    if (!this.#mayAsk(route, host)) {
      return problem(
        421,
        'unknown_host',
        'This host name is not known here. Use 127.0.0.1 or localhost, or list the name in ' +
          'observability.allowed_hosts.',
      );
    }
    if (route === undefined) return problem(404, 'not_found', 'There is nothing at this path.');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      const allow = { allow: 'GET, HEAD' };
      return problem(405, 'method_not_allowed', 'This path is only read: use GET.', allow);
    }
    return route.answer();
  }

  /** Bound beyond loopback the operator's proxy decides; names cannot be known here. */
  #mayAsk(route: Route | undefined, host: string | undefined): boolean {
    if (!this.#options.address.loopback || route?.principal === 'prober') return true;
    return isKnownHost(host, this.#options.allowedHosts);
  }
}

/**
 * Whom and what a request is for. A target that names its host (`GET http://…`) outweighs the Host
 * header; with two Host headers it is for nobody. Format: RFC 9112, section 3.2.
 */
function targetOf({ url = '', headersDistinct }: IncomingMessage) {
  const hosts = headersDistinct['host'] ?? [];
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url);
  const host = absolute === null ? hosts[0] : absolute[1];
  const target = absolute === null ? url : absolute[2]!;
  return { host: hosts.length > 1 ? undefined : host, path: target.split('?', 1)[0]! };
}
