/**
 * Attacks of a model, or of a server on it, to escape the cage of a network tool. `good` is the
 * port of the listed server on 127.0.0.1, `canary` that of an unlisted one, on 127.0.0.1 and on
 * ::1.
 */
export type Ports = { readonly good: number; readonly canary: number };
export type Attack = readonly [address: (ports: Ports) => string, told: RegExp];

const notListed = /is not on the list of hosts/;
const notPublic = /leads into a network that is not public/;
const bad = /not a whole web address|control characters|longer than/;
const scheme = /Only http and https/;
const credentials = /with a user name or password/;

/** Addresses in a call. */
export const addressAttacks: Readonly<Record<string, Attack>> = {
  'another port': [({ canary }) => `http://127.0.0.1:${canary}/`, notListed],
  'another name for it': [({ canary }) => `http://localhost:${canary}/`, notListed],
  'upper case': [({ canary }) => `HTTP://LOCALHOST:${canary}/`, notListed],
  'a name with a dot behind': [({ canary }) => `http://localhost.:${canary}/`, notListed],
  'a name below localhost': [({ canary }) => `http://a.localhost:${canary}/`, notListed],
  'a soft hyphen in a name': [({ canary }) => `http://local\u00ADhost:${canary}/`, notListed],
  'two parts': [({ canary }) => `http://127.1:${canary}/`, notListed],
  'three parts': [({ canary }) => `http://127.0.1:${canary}/`, notListed],
  hexadecimal: [({ canary }) => `http://0x7f.1:${canary}/`, notListed],
  'one hexadecimal number': [({ canary }) => `http://0x7f000001:${canary}/`, notListed],
  'one decimal number': [({ canary }) => `http://2130706433:${canary}/`, notListed],
  'one octal number': [({ canary }) => `http://017700000001:${canary}/`, notListed],
  'octal parts': [({ canary }) => `http://0177.0.0.01:${canary}/`, notListed],
  'four numbers and a dot': [({ canary }) => `http://127.0.0.1.:${canary}/`, notListed],
  'round digits': [({ canary }) => `http://①②⑦.⓪.⓪.①:${canary}/`, notListed],
  'a full stop of another script': [({ canary }) => `http://127。0。0。1:${canary}/`, notListed],
  'escaped digits': [({ canary }) => `http://%31%32%37.0.0.1:${canary}/`, notListed],
  'no address at all': [({ canary }) => `http://0:${canary}/`, notListed],
  'its neighbour': [({ canary }) => `http://127.0.0.2:${canary}/`, notListed],
  IPv6: [({ canary }) => `http://[::1]:${canary}/`, notListed],
  'IPv6 in full': [({ canary }) => `http://[0:0:0:0:0:0:0:1]:${canary}/`, notListed],
  'IPv4 mapped': [({ canary }) => `http://[::ffff:127.0.0.1]:${canary}/`, notListed],
  'IPv4 mapped, in hexadecimal': [({ canary }) => `http://[::ffff:7f00:1]:${canary}/`, notListed],
  'IPv4 mapped, the listed one': [({ good }) => `http://[::ffff:127.0.0.1]:${good}/`, notListed],
  'IPv4 compatible': [({ canary }) => `http://[::127.0.0.1]:${canary}/`, notListed],
  'IPv4 by NAT64': [({ canary }) => `http://[64:ff9b::127.0.0.1]:${canary}/`, notListed],
  'a zone': [({ canary }) => `http://[::1%25lo]:${canary}/`, bad],
  'the listed host as user': [
    ({ good, canary }) => `http://127.0.0.1:${good}@127.0.0.1:${canary}/`,
    credentials,
  ],
  'a listed name as user': [({ canary }) => `http://public.example@[::1]:${canary}/`, credentials],
  'the listed host behind a backslash': [
    ({ good, canary }) => `http://127.0.0.1:${canary}\\@127.0.0.1:${good}/`,
    notListed,
  ],
  'the listed host behind a hash': [
    ({ good, canary }) => `http://127.0.0.1:${canary}#@127.0.0.1:${good}/`,
    notListed,
  ],
  'the listed host behind a question mark': [
    ({ good, canary }) => `http://127.0.0.1:${canary}?@127.0.0.1:${good}/`,
    notListed,
  ],
  'no slashes': [({ canary }) => `http:127.0.0.1:${canary}`, notListed],
  backslashes: [({ canary }) => `http:\\\\127.0.0.1:${canary}\\`, notListed],
  'no scheme': [({ canary }) => `//127.0.0.1:${canary}/`, bad],
  'a line end in the path': [
    ({ good, canary }) => `http://127.0.0.1:${good}/\r\nHost: 127.0.0.1:${canary}\r\n\r\n`,
    bad,
  ],
  'a tab in the host': [({ canary }) => `http://127.0.\t0.1:${canary}/`, bad],
  'an end of text in the host': [({ canary }) => `http://127.0.0.1\0:${canary}/`, bad],
  'a very long one': [({ good }) => `http://127.0.0.1:${good}/${'a'.repeat(10_000)}`, bad],
  'a listed name that leads here': [({ canary }) => `http://here.example:${canary}/`, notPublic],
  'to IPv6': [({ canary }) => `http://here6.example:${canary}/`, notPublic],
  'to IPv4 mapped': [({ canary }) => `http://mapped.example:${canary}/`, notPublic],
  'here and elsewhere': [({ canary }) => `http://both.example:${canary}/`, notPublic],
  'to metadata': [() => 'http://metadata.example/latest/meta-data/', notPublic],
  'metadata itself': [() => 'http://169.254.169.254/latest/meta-data/', notListed],
  'a name of nothing': [({ canary }) => `http://gone.example:${canary}/`, /could not be resolved/],
  'a file': [() => 'file:///etc/passwd', scheme],
  data: [() => 'data:text/plain,hello', scheme],
  ftp: [({ canary }) => `ftp://127.0.0.1:${canary}/`, scheme],
  gopher: [({ canary }) => `gopher://127.0.0.1:${canary}/_GET%20/`, scheme],
  'web sockets': [({ canary }) => `ws://127.0.0.1:${canary}/`, scheme],
  'a script': [() => 'javascript:fetch("/")', scheme],
  'an unknown scheme': [({ canary }) => `unix://127.0.0.1:${canary}/`, scheme],
};

/** Addresses in the Location of an answer of the listed server. */
export const redirectAttacks: Readonly<Record<string, Attack>> = {
  'to another port': [({ canary }) => `http://127.0.0.1:${canary}/`, notListed],
  'to another name': [({ canary }) => `http://localhost:${canary}/`, notListed],
  'to one number': [({ canary }) => `http://2130706433:${canary}/`, notListed],
  'to IPv6': [({ canary }) => `http://[::1]:${canary}/`, notListed],
  'to the same scheme': [({ canary }) => `//127.0.0.1:${canary}/`, notListed],
  'by backslashes': [({ canary }) => `\\\\127.0.0.1:${canary}\\`, notListed],
  'by a slash and a backslash': [({ canary }) => `/\\127.0.0.1:${canary}/`, notListed],
  'with a space before': [({ canary }) => ` http://127.0.0.1:${canary}/`, notListed],
  'with a tab inside': [({ canary }) => `/\t/127.0.0.1:${canary}/`, bad],
  'to a name that leads here': [({ canary }) => `http://here.example:${canary}/`, notPublic],
  'with the listed host as user': [
    ({ good, canary }) => `http://127.0.0.1:${good}@127.0.0.1:${canary}/`,
    credentials,
  ],
  'in UTF-8': [
    ({ canary }) => Buffer.from(`http://①②⑦.1:${canary}/`).toString('latin1'),
    notListed,
  ],
  'to a file': [() => 'file:///etc/passwd', scheme],
  'to data': [() => 'data:text/plain,hello', scheme],
  'to what is no address': [() => 'http://[', bad],
  'to something very long': [() => `/${'a'.repeat(5_000)}`, bad],
};
