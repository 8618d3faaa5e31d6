/**
 * Addresses that flags give to one process, in place of the addresses in its configuration. Only
 * these differ between processes that share a configuration. The process gets them at its start,
 * and they apply to every later configuration.
 */
import { isListener, kindOf, type ListenerConfig } from '../channels/registry.ts';
import type { Config } from './config.ts';
import type { ListenAddress } from './address.ts';

export type OwnAddresses = {
  /** By the name of the channel; the name null stands for the only channel that listens. */
  readonly webhook: ReadonlyMap<string | null, ListenAddress>;
  /** null: the configuration's address. */
  readonly admin: ListenAddress | null;
  readonly completions: ListenAddress | null;
};

export const noOwnAddresses: OwnAddresses = { webhook: new Map(), admin: null, completions: null };

/** The flags of `svc serve`. */
export const addressFlags = {
  webhook: '--webhook-bind',
  admin: '--admin-addr',
  completions: '--completions-bind',
} as const;

/**
 * @param count how many channels listen; a flag without a name means no one of several
 * @returns undefined: no flag gives the channel an address
 */
export function ownAddressOf(
  name: string | undefined,
  count: number,
  { webhook }: OwnAddresses,
): ListenAddress | undefined {
  const own = name === undefined ? undefined : webhook.get(name);
  return own ?? (count === 1 ? webhook.get(null) : undefined);
}

export function withAddresses(config: Config, own: OwnAddresses): Config {
  const { channels, observability, completions } = config;
  const count = channels.filter(isListener).length;
  return {
    ...config,
    channels: channels.map((channel) => {
      const given = isListener(channel) ? ownAddressOf(channel.name, count, own) : undefined;
      if (!isListener(channel) || given === undefined) return channel;
      return { ...channel, bind: withFlag(channel.bind, given, addressFlags.webhook) };
    }),
    observability: {
      ...observability,
      address: withFlag(observability.address, own.admin, addressFlags.admin),
    },
    completions: completions && {
      ...completions,
      bind: withFlag(completions.bind, own.completions, addressFlags.completions),
    },
  };
}

function withFlag(address: ListenAddress, own: ListenAddress | null, flag: string): ListenAddress {
  if (own === null) return address;
  return { ...own, given: true, byFlag: { name: flag, inPlaceOf: address.text } };
}

/** Whether a flag replaces the field at this path, so that its change has no effect here. */
export function isByFlag(path: string, { channels, observability, completions }: Config): boolean {
  if (path === 'observability.addr') return observability.address.byFlag !== undefined;
  if (path === 'completions.bind') return completions?.bind.byFlag !== undefined;
  const [, index] = /^channels\[(\d+)\]\.\w+\.bind$/.exec(path) ?? [];
  const channel = index === undefined ? undefined : channels[Number(index)];
  return channel !== undefined && isListener(channel) && channel.bind.byFlag !== undefined;
}

/** @returns a sentence for each changed address that a flag replaces */
export function overriddenChanges(before: Config, after: Config): readonly string[] {
  const oldAddresses = new Map(addressesOf(before));
  return addressesOf(after).flatMap(([field, { text, byFlag }]) => {
    const oldText = oldAddresses.get(field)?.byFlag?.inPlaceOf;
    if (byFlag === undefined || oldText === undefined || oldText === byFlag.inPlaceOf) return [];
    const { name, inPlaceOf } = byFlag;
    return [
      `${field} is ${inPlaceOf} now, which has no effect on this process: ${name} says ${text}.`,
    ];
  });
}

function addressesOf(config: Config): [string, ListenAddress][] {
  const { channels, observability, completions } = config;
  const listeners = channels
    .filter(isListener)
    .map((channel): [string, ListenAddress] => [fieldOf(channel), channel.bind]);
  if (completions !== null) listeners.push(['completions.bind', completions.bind]);
  return [...listeners, ['observability.addr', observability.address]];
}

/** `webhook.bind`, or with the name of its channel `webhook.bind of intake`. */
function fieldOf({ name, type }: ListenerConfig): string {
  const field = `${kindOf(type).listener.block}.bind`;
  return name === type ? field : `${field} of ${name}`;
}

/**
 * What is wrong with the flags of a start: a name that no listening channel has. A later
 * configuration without the channel leaves its flag without effect.
 * @returns a sentence with its remedy; null: nothing
 */
export function faultOfNames({ channels }: Config, { webhook }: OwnAddresses): string | null {
  const names = channels.filter(isListener).map(({ name }) => name);
  const unknown = [...webhook.keys()].find((name) => name !== null && !names.includes(name));
  if (unknown === undefined) return null;
  const known = names.length === 0 ? 'No channel listens' : `Write one of: ${names.join(', ')}`;
  return `${addressFlags.webhook} names ${unknown}, and no webhook has this name. ${known}.`;
}
