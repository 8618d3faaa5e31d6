/**
 * The npm-shrinkwrap.json of a published package: of the checkout's lock what an install of the
 * package needs, so that everyone gets the versions that were tested.
 * https://docs.npmjs.com/cli/v11/configuring-npm/npm-shrinkwrap-json
 */
type Entry = {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
};

export type Lock = {
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, Entry>>;
};

/**
 * @param root the package.json that is published
 * @returns the lock of that package
 * @throws where the checkout's lock lacks what it names
 */
export function lockOf(lock: Lock, root: Entry & { readonly name: string }): object {
  const taken = new Map<string, Entry>();
  const queue = placesOf(lock, '', root);
  for (const place of queue) {
    if (taken.has(place)) continue;
    const entry = lock.packages[place]!;
    taken.set(place, entry);
    queue.push(...placesOf(lock, place, entry));
  }
  const packages = [...taken]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([place, entry]) => {
      // An entry of the development packages alone is never reached from here.
      const { devOptional: _, ...kept } = entry as Entry & { devOptional?: boolean };
      return [place, kept] as const;
    });
  const { lockfileVersion } = lock;
  const own = Object.fromEntries([['', root as object], ...packages]);
  return { name: root.name, lockfileVersion, requires: true, packages: own };
}

/** Of what it asks for; what is only there for others to bring is not asked for. */
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

/** Where Node finds it: beside the one that asks, or in a folder above. `null`: nowhere. */
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
