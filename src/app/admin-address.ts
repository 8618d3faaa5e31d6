/** Where the admin server listens with an application around the service: its window needs one. */
import type { ListenAddress, ObservabilityConfig } from '../config/config.ts';

export type AdminPlaces = {
  /** For everybody but the window, which cannot be led there; null: the window's is for all. */
  readonly others: ListenAddress | null;
  /** For the window, to be tried in this order; each is on this machine alone. */
  readonly window: readonly [ListenAddress, ...ListenAddress[]];
};

/**
 * An address that the file has is kept. Beside one that is not on 127.0.0.1, or where the file
 * switches the server off, the window has a listener of its own: a window goes to no other host.
 * @param port the window's the last time: what its pages remember is theirs by this; 0: none
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
 * Whether nobody can change anything without the token that the admin block names.
 * @param isAround whether an application is around the service, whose window signs in
 */
export function isTokenWanted(settings: ObservabilityConfig, isAround: boolean): boolean {
  return !isAround || adminPlaces(settings, 0).others !== null;
}

const ownHost = '127.0.0.1';

function onLoopback(port: number): ListenAddress {
  const text = `${ownHost}:${port}`;
  return { host: ownHost, port, text, loopback: true, given: false };
}

/** The address with its real port: port 0 stands for whichever was free. */
export function textAt({ text }: ListenAddress, port: number): string {
  return text.replace(/:0+$/, `:${port}`);
}
