/**
 * Listening sockets that outlive their users: the socket stays open while its handler is replaced,
 * so that a new configuration answers on the same address without one refused connection.
 */
import type { RequestListener } from 'node:http';

export interface Listeners {
  /** Binds the address, or shares the listener that is bound there already. */
  take(address: { readonly host: string; readonly port: number }): Promise<Held | ListenFault>;
}

export type Held = {
  readonly kind: 'held';
  /** The real port; of use when port 0 was asked for. */
  readonly port: number;
  /** From now on this handler answers; the one before keeps what it has begun. */
  answer(handler: RequestListener): void;
  /** The last one to let go closes the socket, after the answers under way, at most `graceMs`. */
  release(graceMs: number): Promise<void>;
};

/** `code` is the system's: EADDRINUSE, EACCES, EADDRNOTAVAIL, ENOTFOUND … */
export type ListenFault = { readonly kind: 'fault'; readonly code: string };
