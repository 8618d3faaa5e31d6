/** The lock of a published package: what an install of it needs, and nothing else. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isExternal } from '../scripts/external.ts';
import { lockOf, type Lock } from '../scripts/release/lock.ts';
import { root } from './run-svc.ts';

type Made = Lock & { readonly name: string };

const none = { version: '1.0.0', integrity: 'sha512-x' };

const lockWith = (packages: object): Lock => ({ lockfileVersion: 3, packages: { ...packages } });

/** @returns the places of the packages that an install of `wanted` needs */
function placesOf(packages: object, wanted: object): readonly string[] {
  const made = lockOf(lockWith(packages), { name: 'svc', ...wanted }) as Made;
  assert.deepEqual([made.name, made.lockfileVersion], ['svc', 3]);
  assert.deepEqual(made.packages[''], { name: 'svc', ...wanted });
  return Object.keys(made.packages).slice(1);
}

test('a lock holds what is asked for and what that asks for, and nothing else, in order', () => {
  const packages = {
    '': { dependencies: { z: '1', other: '1' } },
    'node_modules/z': { ...none, dependencies: { a: '1' } },
    'node_modules/a': { ...none, dependencies: { z: '1' } },
    'node_modules/other': none,
  };
  assert.deepEqual(placesOf(packages, { dependencies: { z: '1' } }), [
    'node_modules/a',
    'node_modules/z',
  ]);
});

test('a package has the one that lies nearest to it', () => {
  const packages = {
    'node_modules/@a/b': { ...none, dependencies: { c: '1', d: '1' } },
    'node_modules/@a/b/node_modules/c': { ...none, dependencies: { d: '1' } },
    'node_modules/c': none,
    'node_modules/d': none,
  };
  assert.deepEqual(placesOf(packages, { dependencies: { '@a/b': '1' } }), [
    'node_modules/@a/b',
    'node_modules/@a/b/node_modules/c',
    'node_modules/d',
  ]);
});

test('what is optional comes along, and a peer where it is not left to others', () => {
  const packages = {
    'node_modules/a': {
      ...none,
      optionalDependencies: { native: '1', absent: '1' },
      peerDependencies: { peer: '1', left: '1' },
      peerDependenciesMeta: { left: { optional: true } },
    },
    'node_modules/native': { ...none, optional: true },
    'node_modules/peer': none,
    'node_modules/left': none,
  };
  assert.deepEqual(placesOf(packages, { optionalDependencies: { a: '1' } }), [
    'node_modules/a',
    'node_modules/native',
    'node_modules/peer',
  ]);
});

test('a lock that lacks what is asked for is none', () => {
  const packages = { 'node_modules/a': { ...none, dependencies: { b: '1' } } };
  assert.throws(
    () => placesOf(packages, { dependencies: { a: '1' } }),
    /lacks b, which "node_modules\/a" asks for/,
  );
});

test('a package that is for development as well is here for the other reason', () => {
  const packages = { 'node_modules/a': { ...none, devOptional: true } };
  const made = lockOf(lockWith(packages), { name: 'svc', dependencies: { a: '1' } });
  assert.deepEqual((made as Made).packages['node_modules/a'], none);
});

test('of this checkout it is what the package needs, as it is locked here', () => {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const lock = read('package-lock.json') as Lock;
  const manifest = read('package.json') as { name: string; dependencies: Record<string, string> };
  const wanted = Object.entries(manifest.dependencies).filter(([name]) => isExternal(name));
  const dependencies = Object.fromEntries(wanted);
  const made = lockOf(lock, { name: manifest.name, dependencies }) as Made;
  const [, ...packages] = Object.entries(made.packages);
  assert.ok(packages.length > wanted.length);
  for (const [place, entry] of packages) {
    assert.deepEqual(entry, lock.packages[place], place);
    assert.match((entry as { integrity?: string }).integrity ?? '', /^sha512-/, place);
  }
  assert.equal(
    packages.some(([place]) => /typescript|oxlint|react|node-linux/.test(place)),
    false,
  );
});
