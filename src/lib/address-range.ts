/**
 * Which part of the Internet an address belongs to. An address that is not known to be public is
 * not public: of IPv6 only 2000::/3 is given out to the world, less the ranges that are set aside
 * inside it.
 *
 * Source: IANA's IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its successors).
 */
import { BlockList, isIP } from 'node:net';

/**
 * `loopback`: this machine. `private`: RFC 1918 and RFC 4193. `special`: set aside for something
 * else (link-local with its metadata services, shared, multicast, documentation, translations of
 * IPv4), or no address at all.
 */
export type AddressRange = 'public' | 'loopback' | 'private' | 'special';

/** IPv4 inside IPv6 (::ffff:0:0/96) meets the rules of IPv4 as well: BlockList sees through it. */
const loopback = listOf('127.0.0.0/8 ::1/128');

const privateUse = listOf('10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7');

const special = listOf(
  '0.0.0.0/8 100.64.0.0/10 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 ' +
    '198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ' +
    // Protocol assignments with Teredo, documentation, 6to4, documentation.
    '2001::/23 2001:db8::/32 2002::/16 3fff::/20',
);

const unicastIpv6 = listOf('2000::/3');

/** @param address as text, without brackets or a zone */
export function rangeOf(address: string): AddressRange {
  const version = isIP(address);
  if (version === 0 || address.includes('%')) return 'special';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (loopback.check(address, family)) return 'loopback';
  if (privateUse.check(address, family)) return 'private';
  if (special.check(address, family)) return 'special';
  return version === 4 || unicastIpv6.check(address, family) ? 'public' : 'special';
}

function listOf(subnets: string): BlockList {
  const list = new BlockList();
  for (const subnet of subnets.split(' ')) {
    const [net, prefix] = subnet.split('/');
    list.addSubnet(net!, Number(prefix), net!.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}
