/**
 * The admin server: pages about the service and an operator's acts, on a listener of its own. Every
 * answer has the security headers; every error is problem+json.
 */
import type { ListenAddress } from '../../config/address.ts';
import { describeBindError, type ListenerHandle, type Listeners } from '../../lib/listener.ts';
import type { AdminPorts } from '../admin.ts';
import type { OperatorAccess } from './auth.ts';
import { adminRefusals, RequestGuard } from './request-guard.ts';
import { LiveListeners } from './live.ts';
import { MetricsPage } from '../metrics/metrics.ts';
import type { Route } from '../routes/route.ts';
import { routesOf } from '../routes/all-routes.ts';
import { respondThrough } from './respond.ts';

export type AdminOptions = {
  readonly address: ListenAddress;
  /** Allowed host names beside the loopback names, for a server on loopback. */
  readonly allowedHosts: () => readonly string[];
  readonly access: OperatorAccess;
  readonly listeners: Listeners;
  /** The folder of the built pages, one folder each. */
  readonly webRoot: string;
};

export interface AdminServer {
  /** All routes of the server. */
  readonly routes: readonly Route[];
  /** Binds the address. The caller decides what a problem means (an end, a warning). */
  open(): Promise<AdminOpened | AdminProblem>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type AdminOpened = { readonly kind: 'opened'; readonly port: number };
/** `code` is the system's (EADDRINUSE …); `message` names the address and the remedy. */
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
  readonly #live: LiveListeners;
  readonly #guard: RequestGuard;
  readonly routes: readonly Route[];
  #held: ListenerHandle | null = null;

  constructor(ports: AdminPorts, options: AdminOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#metrics = new MetricsPage(ports);
    this.#live = new LiveListeners(ports.liveEvents, () => ports.now());
    const { address, allowedHosts, access, webRoot } = options;
    const parts = { metrics: this.#metrics, live: this.#live, access: access.kind, webRoot };
    const table = routesOf(ports, parts);
    this.routes = table.routes;
    this.#guard = new RequestGuard(table, ports, {
      loopback: address.loopback,
      allowedHosts,
      access,
      refusals: adminRefusals(ports.application?.signIn ?? null),
    });
  }

  async open(): Promise<AdminOpened | AdminProblem> {
    const { address, listeners } = this.#options;
    const held = await listeners.takeAlone({ host: address.host, port: address.port });
    if (held.kind === 'fault') {
      const { code } = held;
      const remedy = describeBindError(code, address.port);
      const field = address.byFlag?.name ?? 'observability.addr';
      const message = `${field}: cannot listen on ${address.text} (${code}); ${remedy}`;
      return { kind: 'problem', code, message };
    }
    this.#held = held;
    held.answer(respondThrough(this.#guard, this.#options.access, this.#ports.events));
    return { kind: 'opened', port: held.port };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const held = this.#held;
    this.#held = null;
    this.#live[Symbol.dispose]();
    await held?.release(graceMs);
    await this.#guard.untilWritten();
    this.#metrics[Symbol.dispose]();
  }
}
