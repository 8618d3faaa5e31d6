/** Where the admin server listens when an application with a window runs around the service. */
import type { ObservabilityConfig } from '../config/config.ts';
import type { ListenAddress } from '../config/address.ts';

export type AdminPlaces = {
  /** The listener for everybody but the window. Null: the window's listener serves everybody. */
  readonly others: ListenAddress | null;
  /** Addresses for the window, tried in this order. Each is on this machine alone. */
  readonly window: readonly [ListenAddress, ...ListenAddress[]];
};

/**
 * Keeps the address that the file names. The window can only open a page on 127.0.0.1. So it gets a
 * listener of its own when the file names another address or switches the server off.
 * @param port of the window the last time, because its pages store data by port; 0: none
 */
export function adminPlaces(settings: ObservabilityConfig, port: number): AdminPlaces {
  const { enabled, address } = settings;
  const own: AdminPlaces['window'] =
    port === 0 ? [onLoopback(0)] : [onLoopback(port), onLoopback(0)];
  if (!enabled) return { others: null, window: own };
  if (address.host !== ownHost) return { others: address, window: own };
  return { others: null, window: address.given ? [address] : [address, ...own] };
}

/**
 * Whether every change needs the token that the admin block names.
 * @param isAround whether an application runs around the service and signs its window in
 */
export function isTokenWanted(settings: ObservabilityConfig, isAround: boolean): boolean {
  return !isAround || adminPlaces(settings, 0).others !== null;
}

const ownHost = '127.0.0.1';

function onLoopback(port: number): ListenAddress {
  const text = `${ownHost}:${port}`;
  return { host: ownHost, port, text, loopback: true, given: false };
}

/** Formats the address with its real port, because port 0 means any free one. */
export function textAt({ text }: ListenAddress, port: number): string {
  return text.replace(/:0+$/, `:${port}`);
}
