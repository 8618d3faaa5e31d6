/** A stand-in with the surface of what reads a server's URL; to be replaced. */

/** A URL that was read; `toString` is for people, and without the password. */
export class ServerAddress {
  readonly kind = 'address';
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly user: string;
  readonly database: string;
  /** Sentences about what the URL gives up. */
  readonly warnings: readonly string[] = [];
  readonly #password: string | null;

  constructor(url: URL) {
    this.hosts = [{ host: url.hostname, port: Number(url.port || 5432) }];
    this.user = decodeURIComponent(url.username);
    this.database = decodeURIComponent(url.pathname.slice(1));
    this.#password = url.password === '' ? null : decodeURIComponent(url.password);
  }

  password(): string | null {
    return this.#password;
  }

  toString(): string {
    const hosts = this.hosts.map(({ host, port }) => `${host}:${port}`);
    return `database "${this.database}" on ${hosts.join(' or ')}`;
  }
}

/** What is wrong with a URL, each as a sentence that says what to do. */
export type AddressProblems = { readonly kind: 'problems'; readonly problems: readonly string[] };

export function readAddress(url: string): ServerAddress | AddressProblems {
  const read = URL.parse(url);
  if (read !== null && /^postgres(?:ql)?:$/.test(read.protocol)) return new ServerAddress(read);
  return { kind: 'problems', problems: ['The URL has to begin with postgres://.'] };
}
