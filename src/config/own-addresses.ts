/**
 * Addresses that flags give to one process, in place of the addresses in its configuration. Only
 * these differ between processes that share a configuration. The process gets them at its start,
 * and they apply to every later configuration.
 */
import { isListener, kindOf } from '../channels/registry.ts';
import type { Config } from './config.ts';
import type { ListenAddress } from './address.ts';

/** null: the configuration's address. */
export type OwnAddresses = {
  readonly webhook: ListenAddress | null;
  readonly admin: ListenAddress | null;
};

export const noOwnAddresses: OwnAddresses = { webhook: null, admin: null };

/** The flags of `svc serve`. */
export const addressFlags = { webhook: '--webhook-bind', admin: '--admin-addr' } as const;

export function withAddresses(config: Config, { webhook, admin }: OwnAddresses): Config {
  const { channels, observability } = config;
  const { address } = observability;
  return {
    ...config,
    channels: channels.map((channel) =>
      isListener(channel) && webhook !== null
        ? { ...channel, bind: withFlag(channel.bind, webhook, addressFlags.webhook) }
        : channel,
    ),
    observability:
      admin === null
        ? observability
        : { ...observability, address: withFlag(address, admin, addressFlags.admin) },
  };
}

function withFlag({ text }: ListenAddress, own: ListenAddress, flag: string): ListenAddress {
  return { ...own, given: true, byFlag: { name: flag, inPlaceOf: text } };
}

/** Whether a flag replaces the field at this path, so that its change has no effect here. */
export function isByFlag(path: string, { channels, observability }: Config): boolean {
  if (path === 'observability.addr') return observability.address.byFlag !== undefined;
  if (!/^channels\[\d+\]\.\w+\.bind$/.test(path)) return false;
  return channels.some((one) => isListener(one) && one.bind.byFlag !== undefined);
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

function addressesOf({ channels, observability }: Config): [string, ListenAddress][] {
  const listeners = channels.filter(isListener).map(({ type, bind }): [string, ListenAddress] => {
    return [`${kindOf(type).listener.block}.bind`, bind];
  });
  return [...listeners, ['observability.addr', observability.address]];
}
