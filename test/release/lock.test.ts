/** The lock of a published package contains exactly the needs of an install. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isExternal } from '../../scripts/external.ts';
import { pin, type Lock } from '../../scripts/release/lock.ts';
import { root } from '../support/run-svc.ts';

type Made = Lock & { readonly name: string };

const none = { version: '1.0.0', integrity: 'sha512-x' };

const lockWith = (packages: object): Lock => ({ lockfileVersion: 3, packages: { ...packages } });

/** @returns the names and versions of the packages that an install of `wanted` needs */
function lockedOf(packages: object, wanted: object): readonly string[] {
  const { manifest, lock } = pin(lockWith(packages), { name: 'svc', ...wanted });
  const made = lock as Made;
  assert.deepEqual([made.name, made.lockfileVersion], ['svc', 3]);
  const [[own, asked], ...others] = Object.entries(made.packages) as [[string, object]];
  assert.equal(own, '');
  assert.deepEqual(asked, manifest, 'else npm calls the two out of step');
  return (others as [string, { version: string }][]).map(([place, { version }]) => {
    return `${place.replace(/^node_modules\//, '')} ${version}`;
  });
}

test('a lock holds what is asked for and what that asks for, and nothing else, in order', () => {
  const packages = {
    '': { dependencies: { z: '1', other: '1' } },
    'node_modules/z': { ...none, dependencies: { a: '1' } },
    'node_modules/a': { ...none, dependencies: { z: '1' } },
    'node_modules/other': none,
  };
  assert.deepEqual(lockedOf(packages, { dependencies: { z: '1' } }), ['a 1.0.0', 'z 1.0.0']);
});

test('a package has the one that lies nearest to it, and that version is named', () => {
  const packages = {
    'node_modules/@a/b': { ...none, dependencies: { c: '1', d: '1' } },
    'node_modules/@a/b/node_modules/c': { ...none, version: '1.1.0', dependencies: { d: '1' } },
    'node_modules/c': { ...none, version: '2.0.0' },
    'node_modules/d': none,
  };
  const wanted = { name: 'svc', dependencies: { '@a/b': '^1.0.0' } };
  assert.deepEqual(lockedOf(packages, wanted), ['@a/b 1.0.0', 'c 1.1.0', 'd 1.0.0']);
  const { manifest } = pin(lockWith(packages), wanted);
  assert.deepEqual(manifest.dependencies, { '@a/b': '1.0.0', c: '1.1.0', d: '1.0.0' });
});

test('two versions of one name cannot both be named', () => {
  const packages = {
    'node_modules/a': { ...none, dependencies: { b: '1' } },
    'node_modules/a/node_modules/b': none,
    'node_modules/b': { ...none, version: '2.0.0' },
  };
  assert.throws(() => lockedOf(packages, { dependencies: { a: '1', b: '2' } }), /has b as /);
});

test('what is optional comes along, and a peer where it is not left to others', () => {
  const packages = {
    'node_modules/a': {
      ...none,
      optional: true,
      optionalDependencies: { native: '1', absent: '1' },
      peerDependencies: { peer: '1', left: '1' },
      peerDependenciesMeta: { left: { optional: true } },
    },
    'node_modules/native': { ...none, optional: true },
    'node_modules/peer': none,
    'node_modules/left': none,
  };
  const wanted = { name: 'svc', optionalDependencies: { a: '1' } };
  assert.deepEqual(lockedOf(packages, wanted), ['a 1.0.0', 'native 1.0.0', 'peer 1.0.0']);
  const { manifest } = pin(lockWith(packages), wanted);
  assert.deepEqual(manifest, { ...wanted, dependencies: { peer: '1.0.0' } });
});

test('a lock that lacks what is asked for is none', () => {
  const packages = { 'node_modules/a': { ...none, dependencies: { b: '1' } } };
  assert.throws(
    () => lockedOf(packages, { dependencies: { a: '1' } }),
    /lacks b, which "node_modules\/a" asks for/,
  );
});

test('a package that is for development as well is here for the other reason', () => {
  const packages = { 'node_modules/a': { ...none, devOptional: true } };
  const { lock } = pin(lockWith(packages), { name: 'svc', dependencies: { a: '1' } });
  assert.deepEqual((lock as Made).packages['node_modules/a'], none);
});

test('of this checkout it is what the package needs, as it is locked here', () => {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const checkout = read('package-lock.json') as Lock;
  const manifest = read('package.json') as { name: string; dependencies: Record<string, string> };
  const wanted = Object.entries(manifest.dependencies).filter(([name]) => isExternal(name));
  const dependencies = Object.fromEntries(wanted);
  const pinned = pin(checkout, { name: manifest.name, dependencies });
  const packages = Object.entries((pinned.lock as Made).packages).slice(1);
  assert.ok(packages.length > wanted.length);
  const known = new Set(Object.values(checkout.packages).map((one) => JSON.stringify(one)));
  for (const [place, entry] of packages) {
    assert.ok(known.has(JSON.stringify(entry)), place);
    assert.match((entry as { integrity?: string }).integrity ?? '', /^sha512-/, place);
  }
  assert.equal(Object.keys(pinned.manifest.dependencies).length, packages.length);
  assert.equal(
    packages.some(([place]) => /typescript|oxlint|react|node-linux/.test(place)),
    false,
  );
});
