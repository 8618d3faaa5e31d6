/**
 * Makes the npm-shrinkwrap.json of a published package from the part of the checkout's lock that an
 * install needs. So everyone gets the tested versions.
 * https://docs.npmjs.com/cli/v11/configuring-npm/npm-shrinkwrap-json
 */
type Entry = {
  readonly version?: string;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
};

export type Lock = {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, Entry>>;
};

export type Pinned<T> = { readonly manifest: T; readonly lock: object };

/**
 * npm follows the lock of a package from the registry, but not of a package from a file. So the
 * package names all dependencies by their versions, and the lock says the same.
 * @param root the package.json to publish
 * @returns it with every version, and its lock
 * @throws where the checkout's lock lacks a dependency, or has it in two versions
 */
export function pin<T extends Entry & { readonly name: string }>(lock: Lock, root: T): Pinned<T> {
  const taken = new Map<string, Entry>();
  const queue = placesOf(lock, '', root);
  for (const place of queue) {
    if (taken.has(place)) continue;
    const entry = lock.packages[place]!;
    taken.set(place, entry);
    queue.push(...placesOf(lock, place, entry));
  }
  const flat = flattened(taken);
  const required = flat.filter(([, entry]) => entry.optional !== true);
  const dependencies = required.map(([name, { version }]) => [name, version!] as const);
  const manifest = { ...root, dependencies: Object.fromEntries(dependencies) };
  const packages = flat.map(([name, entry]) => {
    // Development packages never reach this point.
    const { devOptional: _, ...kept } = entry;
    return [`node_modules/${name}`, kept] as const;
  });
  const { lockfileVersion } = lock;
  const own = Object.fromEntries([['', manifest as object], ...packages]);
  return { manifest, lock: { name: root.name, lockfileVersion, requires: true, packages: own } };
}

/** Each name once, in order: npm may place the package anywhere, the version is the same. */
function flattened(taken: ReadonlyMap<string, Entry>): readonly (readonly [string, Entry])[] {
  const byName = new Map<string, Entry>();
  for (const [place, entry] of taken) {
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const former = byName.get(name);
    if (former !== undefined && former.version !== entry.version) {
      throw new Error(`the lock has ${name} as ${former.version} and as ${entry.version}`);
    }
    byName.set(name, entry);
  }
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The places of the entry's dependencies. Optional peers do not count. */
function placesOf(lock: Lock, from: string, entry: Entry): string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = entry;
  const required = Object.keys(dependencies).map((name) => {
    const place = placeOf(lock, from, name);
    if (place === null) throw new Error(`the lock lacks ${name}, which "${from}" asks for`);
    return place;
  });
  const peers = Object.keys(peerDependencies).filter((name) => {
    return entry.peerDependenciesMeta?.[name]?.optional !== true;
  });
  const others = [...Object.keys(optionalDependencies), ...peers];
  const found = others.map((name) => placeOf(lock, from, name));
  return [...required, ...found.filter((place) => place !== null)];
}

/** Where Node finds a package: beside its importer or in a folder above; `null`: nowhere. */
function placeOf({ packages }: Lock, from: string, name: string): string | null {
  for (
    let folder = from;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))
  ) {
    const place = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === '') break;
  }
  return null;
}
