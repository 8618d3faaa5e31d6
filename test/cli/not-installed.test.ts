/**
 * The messages of `npm start` and `npm test` in a checkout before `npm ci`, or under a Node that is
 * too old. The Nodes are this one, with another version.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { scratch } from '../support/program.ts';
import { launcher, root, runProgram } from '../support/run-svc.ts';

type Layout = {
  readonly version: string;
  /** By default that of this machine. */
  readonly platform?: string;
  /** Names in node_modules; by default nothing is installed. */
  readonly packages?: readonly string[];
};

const lacks = 'This checkout lacks packages: run "npm ci" first.';
const install = 'Install a newer Node, and run "npm ci" first.';
const needs = (needed: string, version: string): string =>
  `svc needs Node ${needed} or newer; this is v${version}.`;
const starts = [
  ['npm start', ['bin/svc.js', 'demo']],
  ['npm test', ['scripts/node.js', 'scripts/test.ts']],
] as const;

/** @returns the messages of both, which end with 78 and an empty standard output */
async function refusals({ version, platform, packages }: Layout): Promise<readonly string[]> {
  await using place = await scratch();
  layCheckout(place.path);
  for (const name of packages ?? []) {
    mkdirSync(join(place.path, 'node_modules', name), { recursive: true });
  }
  if (packages !== undefined) {
    writeFileSync(join(place.path, 'node_modules', '.package-lock.json'), '{}');
  }
  const other = join(place.path, 'other.cjs');
  writeFileSync(other, preload(version, platform));
  const env = { NODE_OPTIONS: `--require=${JSON.stringify(other)}`, SVC_FROM_SOURCES: undefined };
  const said: string[] = [];
  for (const [name, args] of starts) {
    const run = runProgram(process.execPath, [...args], { cwd: place.path, env });
    const ended = await run.ended;
    assert.deepEqual(ended, { code: 78, signal: null }, `${name}: ${run.out()}${run.err()}`);
    assert.equal(run.out(), '', name);
    said.push(run.err());
  }
  return said;
}

/** The files of a checkout that run before an installation. */
function layCheckout(folder: string): void {
  cpSync(dirname(launcher), join(folder, 'bin'), { recursive: true });
  mkdirSync(join(folder, 'scripts'));
  cpSync(join(root, 'scripts', 'node.js'), join(folder, 'scripts', 'node.js'));
  mkdirSync(join(folder, 'src'));
  const main = "export const main = () => console.log('ran');";
  writeFileSync(join(folder, 'src', 'main.ts'), main);
  writeFileSync(join(folder, 'scripts', 'test.ts'), "console.log('ran');");
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
}

function preload(version: string, platform: string = process.platform): string {
  const versions = JSON.stringify({ ...process.versions, node: version });
  return `
    // A Node that comes along is what it is.
    if (process.env.SVC_LAUNCHED === undefined) {
      Object.defineProperty(process, 'version', { value: 'v${version}' });
      Object.defineProperty(process, 'versions', { value: ${versions} });
      Object.defineProperty(process, 'platform', { value: '${platform}' });
    }`;
}

suite('a checkout before `npm ci`', () => {
  test('asks for it, under every Node that can install it', async () => {
    for (const version of ['20.19.0', '22.12.0', '23.0.0', '26.10.0']) {
      const said = await refusals({ version });
      assert.deepEqual(said, [`${lacks}\n`, `${lacks}\n`], version);
    }
  });

  test('says which Node is needed, under one that cannot', async () => {
    for (const [version, needed] of [
      ['12.22.12', '20.19'],
      ['18.20.8', '20.19'],
      ['20.18.3', '20.19'],
      ['21.7.3', '22.12'],
      ['22.11.0', '22.12'],
    ] as const) {
      const sentence = `${needs(needed, version)} ${install}\n`;
      assert.deepEqual(await refusals({ version }), [sentence, sentence]);
    }
  });

  test('says so too where an install broke off, or an old npm left an empty folder', async () => {
    await using place = await scratch();
    layCheckout(place.path);
    mkdirSync(join(place.path, 'node_modules', 'typescript'), { recursive: true });
    for (const [name, args] of starts) {
      const run = runProgram(process.execPath, [...args], { cwd: place.path });
      assert.deepEqual(await run.ended, { code: 78, signal: null }, name);
      assert.equal(run.err(), `${lacks}\n`, name);
    }
  });

  test('needs the Node of svc itself where none comes along with an install', async () => {
    const platform = 'freebsd';
    const sentence = `${needs('24', '22.12.0')} ${install}\n`;
    assert.deepEqual(await refusals({ version: '22.12.0', platform }), [sentence, sentence]);
    assert.deepEqual(await refusals({ version: '24.0.0', platform }), [`${lacks}\n`, `${lacks}\n`]);
  });

  test('every script of package.json comes by a file that says it', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      scripts: Readonly<Record<string, string>>;
    };
    const programs = Object.values(scripts).flatMap((line) => [...line.matchAll(/\bnode (\S+)/g)]);
    assert.deepEqual(
      [...new Set(programs.map(([, file]) => file!))].toSorted(),
      ['bin/svc.js', 'scripts/node.js', 'scripts/prepare.js'],
      'the last runs after an install alone',
    );
  });
});

suite('a checkout that was installed in part', () => {
  test('without the Node that comes along, an older one is told how to get it', async () => {
    const version = '20.19.0';
    const more = 'or run "npm ci" without --omit=optional, which brings one along.';
    const sentence = `${needs('24', version)} Install a newer Node, ${more}\n`;
    assert.deepEqual(await refusals({ version, packages: ['typescript'] }), [sentence, sentence]);
  });

  test('without the packages for development svc runs, and the scripts ask for them', async () => {
    await using place = await scratch();
    layCheckout(place.path);
    mkdirSync(join(place.path, 'node_modules'));
    writeFileSync(join(place.path, 'node_modules', '.package-lock.json'), '{}');
    const said: string[] = [];
    for (const [, args] of starts) {
      const run = runProgram(process.execPath, [...args], { cwd: place.path });
      await run.ended;
      said.push(run.out() + run.err());
    }
    assert.deepEqual(said, ['ran\n', `${lacks}\n`]);
  });

  test('one that is built runs without packages', async () => {
    await using place = await scratch();
    layCheckout(place.path);
    mkdirSync(join(place.path, 'dist'));
    writeFileSync(
      join(place.path, 'dist', 'main.js'),
      "export const main = () => console.log('built');",
    );
    const run = runProgram(process.execPath, ['bin/svc.js'], { cwd: place.path });
    assert.deepEqual(await run.ended, { code: 0, signal: null }, run.err());
  });
});
