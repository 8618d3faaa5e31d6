/** `npm ci` gives no warning under the Nodes of `engines`, and refuses every other one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isExternal } from '../../scripts/external.ts';
import { root } from '../support/run-svc.ts';

type Entry = {
  readonly engines?: { readonly node?: string };
  readonly optional?: boolean;
  readonly deprecated?: string;
};

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const lock = JSON.parse(read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, Entry>>;
};
const { engines } = JSON.parse(read('package.json')) as { readonly engines: { node: string } };

/** The oldest versions that may install svc, and newer ones. */
const allowed = [
  '20.19.0',
  '20.20.2',
  '22.12.0',
  '23.0.0',
  '24.0.0',
  '25.0.0',
  '26.0.0',
  '26.10.0',
];
const refused = ['12.22.12', '14.21.3', '16.20.2', '18.20.8', '20.18.3', '21.7.3', '22.11.0'];

type Version = readonly [major: number, minor: number, patch: number];

function compare(one: Version, other: Version): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}

/** Evaluates one comparison of a range, such as `>=20`, `^8.16.0` or `4.x`, as npm reads it. */
function holds(text: string, version: Version): boolean {
  if (text === '' || text === '*') return true;
  const [, sign, digits = ''] = /^(>=|\^)?v?(\d+(?:\.(?:\d+|x))*)$/.exec(text) ?? [];
  if (digits === '') throw new Error(`"${text}" is no range that this test can read`);
  const [major = 0, minor, patch] = digits.split('.').map(Number).filter(Number.isInteger);
  const isLater = compare(version, [major, minor ?? 0, patch ?? 0]) >= 0;
  if (sign === '>=') return isLater;
  const isSame = version[0] === major && (minor === undefined || version[1] === minor);
  return sign === '^' ? isLater && version[0] === major : isSame && isLater;
}

/** Whether `engines.node` of a package allows that Node. */
function allows(range: string, node: string): boolean {
  const version = node.split('.').map(Number) as unknown as Version;
  const ways = range.split('||').map((way) => way.replaceAll(/>= +/g, '>=').trim().split(/\s+/));
  return ways.some((way) => way.every((one) => holds(one, version)));
}

test('ranges are read as npm reads them', () => {
  for (const [range, node, wanted] of [
    ['>= 20', '20.0.0', true],
    ['>=v14.0.0', '12.22.12', false],
    ['18 || 20 || >=22', '21.7.3', false],
    ['^20.19.0 || >=22.12.0', '20.19.0', true],
    ['^20.19.0 || >=22.12.0', '22.11.0', false],
    ['4.x || >=6.0.0', '4.9.1', true],
    ['>=16 || 14 >=14.17', '14.16.0', false],
    ['*', '12.22.12', true],
  ] as const) {
    assert.equal(allows(range, node), wanted, `${range} ${node}`);
  }
});

test('engines allows Node 20.19 and 22.12 to 26, and nothing older', () => {
  assert.deepEqual(
    allowed.filter((node) => !allows(engines.node, node)),
    [],
  );
  assert.deepEqual(
    refused.filter((node) => allows(engines.node, node)),
    [],
  );
  assert.deepEqual(lock.packages['']?.engines, engines);
});

test('every package that npm has to install runs on each of them', () => {
  const needed = Object.entries(lock.packages).filter(([, { optional }]) => optional !== true);
  const narrow = needed.flatMap(([place, entry]) => {
    const range = entry.engines?.node ?? '*';
    const without = allowed.filter((node) => !allows(range, node));
    return without.length > 0 ? [`${place} wants ${range}`] : [];
  });
  assert.deepEqual(narrow, [], 'else npm refuses to install svc');
});

test('the package that brings a Node installs where its packages do', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: object };
  const published = Object.keys(dependencies).filter(isExternal);
  const narrow = published.filter((name) => {
    return !allows(lock.packages[`node_modules/${name}`]?.engines?.node ?? '*', '20.8.0');
  });
  assert.ok(published.length > 0);
  assert.deepEqual(narrow, [], 'scripts/release/tarball.ts names another Node');
});

test('no package is deprecated, and npm says nothing of it', () => {
  const deprecated = Object.entries(lock.packages).filter(
    ([, one]) => one.deprecated !== undefined,
  );
  assert.deepEqual(
    deprecated.map(([place]) => place),
    [],
  );
});

test('npm refuses a Node that is too old, instead of a warning for each package', () => {
  assert.match(read('.npmrc'), /^engine-strict=true$/m);
});
