/**
 * The places that no agent reaches by accident: where svc itself listens, and the addresses of the
 * configured models. Their servers trust whoever can connect. A place is known by its address and
 * port, under whatever name it was asked for.
 */
import { isIP } from 'node:net';
import { rangeOf } from '../lib/address-range.ts';
import type { BoundPlace, Listeners } from '../lib/listener.ts';
import { isOwnAddress, isUnspecified, plainAddress } from '../lib/own-address.ts';
import type { Place, ReservedPlaces, Resolve } from './host-cage.ts';

type ModelPlace = { readonly host: string; readonly port: number };

export class OwnPlaces implements ReservedPlaces {
  readonly #listeners: Pick<Listeners, 'places'>;
  readonly #resolve: Resolve;
  readonly #models: readonly ModelPlace[];

  /** @param baseUrls of the models, whole web addresses */
  constructor(
    listeners: Pick<Listeners, 'places'>,
    resolve: Resolve,
    baseUrls: readonly string[] = [],
  ) {
    this.#listeners = listeners;
    this.#resolve = resolve;
    this.#models = baseUrls.flatMap((text) => modelPlaceOf(text) ?? []);
  }

  /** The same listeners, with the models of one configuration. */
  withModels(baseUrls: readonly string[]): OwnPlaces {
    return new OwnPlaces(this.#listeners, this.#resolve, baseUrls);
  }

  async holds(place: Place): Promise<boolean> {
    if (this.#listeners.places.some((bound) => leadsTo(place, bound))) return true;
    for (const model of this.#models) {
      if (model.port === place.port && (await this.#isOfModel(place, model.host))) return true;
    }
    return false;
  }

  /**
   * A model's server on this machine may listen on every address of it. A public address may be
   * one that a model's vendor shares with others, so there only the name tells. A name that cannot
   * be resolved now may lead anywhere.
   */
  async #isOfModel({ host, address }: Place, model: string): Promise<boolean> {
    if (host === model) return true;
    const isOwn = isOwnAddress(address);
    if (!isOwn && rangeOf(address) === 'public') return false;
    const found = isIP(model) === 0 ? await this.#resolve(model).catch(() => null) : [model];
    if (found === null) return true;
    const plain = plainAddress(address);
    return found.some((one) => plainAddress(one) === plain || (isOwn && isOwnAddress(one)));
  }
}

function leadsTo({ address, port }: Place, bound: BoundPlace): boolean {
  if (port !== bound.port || !isOwnAddress(address)) return false;
  if (isUnspecified(bound.address) || isUnspecified(address)) return true;
  return plainAddress(address) === plainAddress(bound.address);
}

function modelPlaceOf(baseUrl: string): ModelPlace | null {
  const url = URL.parse(baseUrl);
  if (url === null) return null;
  const host = url.hostname.replace(/^\[(.*)\]$|\.$/, '$1');
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return { host, port };
}
