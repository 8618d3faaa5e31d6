/**
 * The places that no agent reaches by accident: where svc itself listens, the servers that the
 * configuration names (models, MCP servers, speech), and the database. They trust whoever can
 * connect. A place is known by its address and port, under whatever name it was asked for.
 */
import { isIP } from 'node:net';
import { rangeOf } from '../../lib/address-range.ts';
import type { BoundPlace, Listeners } from '../../lib/listener.ts';
import { isOwnAddress, isUnspecified, plainAddress } from '../../lib/own-address.ts';
import type { Place, ReservedPlaces, Resolve } from './host-cage.ts';

/** `host`: a name, or an address without brackets. */
export type ServerPlace = { readonly host: string; readonly port: number };

type Known = ServerPlace & {
  /** Its public addresses may be those of others, too. */
  readonly isShared: boolean;
};

export class OwnPlaces implements ReservedPlaces {
  readonly #listeners: Pick<Listeners, 'places'>;
  readonly #resolve: Resolve;
  readonly #servers: readonly Known[];
  /** One list for all that `withServers` makes. */
  readonly #databases: Known[];

  constructor(
    listeners: Pick<Listeners, 'places'>,
    resolve: Resolve,
    servers: readonly Known[] = [],
    databases: Known[] = [],
  ) {
    this.#listeners = listeners;
    this.#resolve = resolve;
    this.#servers = servers;
    this.#databases = databases;
  }

  /** The same listeners and databases, with the servers of one configuration. @param urls whole */
  withServers(urls: readonly string[]): OwnPlaces {
    const servers = urls.flatMap((text) => placeOfUrl(text) ?? []);
    return new OwnPlaces(this.#listeners, this.#resolve, servers, this.#databases);
  }

  /** The hosts of the database that the process uses; the folder of a socket is none. */
  addDatabase(hosts: readonly ServerPlace[]): void {
    for (const { host, port } of hosts) {
      if (host.startsWith('/')) continue;
      this.#databases.push({ host: host.toLowerCase().replace(/\.$/, ''), port, isShared: false });
    }
  }

  async holds(place: Place): Promise<boolean> {
    if (this.#listeners.places.some((bound) => leadsTo(place, bound))) return true;
    for (const known of [...this.#servers, ...this.#databases]) {
      if (known.port === place.port && (await this.#isAt(place, known))) return true;
    }
    return false;
  }

  /**
   * A server on this machine may listen on every address of it. A public address may be one that a
   * vendor shares with others, so there only the name tells. A name that cannot be resolved now may
   * lead anywhere.
   */
  async #isAt({ host, address }: Place, { host: name, isShared }: Known): Promise<boolean> {
    if (host === name) return true;
    const isOwn = isOwnAddress(address);
    const isPublic = !isOwn && rangeOf(address) === 'public';
    if (isPublic && isShared) return false;
    const found = isIP(name) === 0 ? await this.#resolve(name).catch(() => null) : [name];
    if (found === null) return !isPublic;
    const plain = plainAddress(address);
    return found.some((one) => plainAddress(one) === plain || (isOwn && isOwnAddress(one)));
  }
}

function leadsTo({ address, port }: Place, bound: BoundPlace): boolean {
  if (port !== bound.port || !isOwnAddress(address)) return false;
  if (isUnspecified(bound.address) || isUnspecified(address)) return true;
  return plainAddress(address) === plainAddress(bound.address);
}

function placeOfUrl(text: string): Known | null {
  const url = URL.parse(text);
  if (url === null) return null;
  const host = url.hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { host, port, isShared: true };
}
