/** The hosts of a server's URL: names, addresses, and folders of sockets. */
import { isIPv6 } from 'node:net';

export type ServerHost = {
  /** A name, an address without brackets, or the folder of a socket, which begins with `/`. */
  readonly host: string;
  readonly port: number;
};

type Hosts = { readonly hosts: readonly ServerHost[] } | { readonly problem: string };

const usualPort = 5432;
const most = 16;

/**
 * @param written what stands between the user and the database: `db1:5432,db2`, or nothing
 * @param named the parameter `host`, which goes before it
 * @param ports the parameter `port`: one for all, or one for each
 */
export function hostsOf(
  written: string,
  named: string | undefined,
  ports: string | undefined,
): Hosts {
  const found =
    named === undefined
      ? written.split(',').map(ofAuthority)
      : named.split(',').map((host) => ({ host, port: null }));
  if (found.length > most) return { problem: `The URL names more than ${most} hosts; name fewer.` };
  const given = ports?.split(',') ?? [];
  if (given.length > 1 && given.length !== found.length) {
    return { problem: 'The URL has another number of ports than of hosts; give one port for all.' };
  }
  const hosts: ServerHost[] = [];
  for (const [index, one] of found.entries()) {
    const port = portOf(one?.port ?? given[index] ?? given[0] ?? null);
    // Neither is repeated: a password with a / in it would stand here.
    if (one === null || !isHost(one.host)) return { problem: unreadable };
    if (port === null) return { problem: 'The URL has a port that is none; write 1 to 65535.' };
    hosts.push({ host: one.host, port });
  }
  return { hosts };
}

const unreadable =
  'The URL names no host that can be read. Write a name or an address, an IPv6 address in ' +
  'brackets, or ?host=/var/run/postgresql for the folder of a socket.';

function ofAuthority(text: string): { readonly host: string; readonly port: string | null } | null {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text);
  if (match === null) return null;
  const [, six, name = '', port = ''] = match;
  if (six !== undefined && !isIPv6(six)) return null;
  try {
    return { host: six ?? decodeURIComponent(name), port: port === '' ? null : port };
  } catch {
    return null;
  }
}

function isHost(host: string): boolean {
  return /^\/[^\0]*$/.test(host) || isIPv6(host) || /^[\w.-]+$/.test(host);
}

function portOf(text: string | null): number | null {
  if (text === null || text === '') return usualPort;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port < 65_536 ? port : null;
}
