/** The floors of the house and its lengths: who may import whom, and how long things may be. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { channelKinds } from '../../src/channels/registry.ts';

const root = join(import.meta.dirname, '../..');
const sources = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
const pages = globSync('web/*/**/*.{ts,tsx}', { cwd: root }).filter(
  (file) => !file.startsWith('web/dist/'),
);
const stations = [
  'channel',
  'brain',
  'model',
  'policy',
  'tool',
  'store',
  'secrets',
  'speech',
  'picture',
];
const floors: Record<string, number> = {
  lib: 0,
  domain: 1,
  config: 2,
  'events.ts': 2,
  figures: 2,
  'fault-line.ts': 2,
  'frames.ts': 2,
  'meters.ts': 2,
  'traffic.ts': 2,
  'approval-meters.ts': 2,
  'attachment-meters.ts': 2,
  'call-meters.ts': 2,
  'operator-meters.ts': 2,
  'open-calls.ts': 2,
  'spend-meters.ts': 2,
  'standings.ts': 2,
  'delivery-meters.ts': 2,
  flow: 4,
  admin: 5,
  cli: 6,
  control: 6,
  desktop: 6,
  preflight: 6,
  run: 6,
  setup: 6,
  talk: 6,
  trial: 6,
  'rehearsal.ts': 6,
  'keychain.ts': 6,
  'mcp-survey.ts': 6,
  'main.ts': 6,
  'service.ts': 6,
  'storage.ts': 6,
  'secret-lookup.ts': 6,
};
for (const station of stations) floors[station] = 3;
/** What channels are, as plain facts: a room of its own, though each stands in its folder. */
floors['kinds'] = 2;
const isKind = (file: string): boolean =>
  /^src\/channel\/(?:[^/]+\/)?(?:messenger-)?kinds?\.ts$/.test(file);

/** What of the ground floor is as pure as the check of a configuration, which stands on it. */
const pureOfLib = new Set(
  ['address-range', 'for-shell', 'ip-address'].map((one) => `src/lib/${one}.ts`),
);

type Import = { from: string; to: string };

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...found].map((match) => ({
    from: file,
    to: relative(root, join(root, dirname(file), match[1]!)),
  }));
}

/** `src/model/retry.ts` is in the room `model`; `src/main.ts` is a room of its own. */
const roomOf = (file: string): string => (isKind(file) ? 'kinds' : file.split('/')[1]!);
const isContract = (file: string): boolean => {
  const parts = file.split('/');
  return parts.length === 3 && parts[2] === `${parts[1]}.ts`;
};

/** A kind is found by its type; only its own folder names it. */
const isDoor = (from: string, to: string): boolean =>
  dirname(from) === dirname(to) || /^src\/channel\/kinds?\.ts$/.test(to);

function faultOf({ from, to }: Import): string | null {
  if (!to.startsWith('src/')) return `${from} reaches outside src: ${to}`;
  const here = roomOf(from);
  const there = roomOf(to);
  if (here === there) return null;
  const up = floors[there]! > floors[here]!;
  if (floors[there] === undefined) return `${to} stands in a room without a floor`;
  if (up) return `${from} imports ${to} from a higher floor`;
  if (there === 'cli' && here !== 'main.ts') return `${from} imports a command: ${to}`;
  if (here === 'domain') return `${from} is a noun of the domain and imports ${to}`;
  if (here === 'lib') return `${from} knows nothing of messages but imports ${to}`;
  if (/^(?:config|kinds)$/.test(here) && there === 'lib' && !pureOfLib.has(to)) {
    return `${from} is pure but imports ${to}`;
  }
  if (there === 'kinds' && !isDoor(from, to)) return `${from} imports ${to}: meet at kinds.ts`;
  const meetsStation = stations.includes(there) && floors[here]! < 6;
  if (here === 'admin' && stations.includes(there) && to !== 'src/ledger/ledger.ts') {
    return `${from} imports a station: ${to}`;
  }
  if (meetsStation && !isContract(to)) return `${from} imports ${to}: meet at the contract`;
  if (
    /^src\/(?:cli|desktop|preflight|setup|talk)\//.test(from) &&
    stations.includes(there) &&
    !isContract(to)
  ) {
    return `${from} names a class; only src/app/keychain.ts, service.ts and storage.ts do: ${to}`;
  }
  return null;
}

test('imports go down, stations meet by contract, two files alone name classes', () => {
  assert.ok(sources.length > 10, 'the sources were found');
  const faults = sources
    .flatMap(importsOf)
    .map(faultOf)
    .filter((fault) => fault !== null);
  assert.deepEqual(faults, []);
});

/** What of the configuration looks at the disk, or stands on what does. */
const hasDisk = /\/(agent-folders|by-hand|inspect|mcp-pins|secrets)\.ts$/;

test('the pure floors import nothing of Node', () => {
  const pure = sources.filter(
    (file) =>
      file.startsWith('src/domain/') ||
      pureOfLib.has(file) ||
      isKind(file) ||
      (file.startsWith('src/config/') && !hasDisk.test(file)) ||
      /\/(wire|trial\/expectation)\.ts$|^src\/policy\//.test(file),
  );
  const faults = pure.filter((file) => /from 'node:/.test(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(faults, []);
});

test('the rule above sees a fault when there is one', () => {
  assert.match(faultOf({ from: 'src/lib/a.ts', to: 'src/domain/b.ts' }) ?? '', /higher floor/);
  assert.match(
    faultOf({ from: 'src/pipeline/a.ts', to: 'src/ledger/memory/memory.ts' }) ?? '',
    /contract/,
  );
  assert.match(
    faultOf({ from: 'src/admin/a.ts', to: 'src/brains/models/model.ts' }) ?? '',
    /station/,
  );
  assert.equal(faultOf({ from: 'src/pipeline/a.ts', to: 'src/ledger/ledger.ts' }), null);
  const kinds = 'src/channels/registry.ts';
  assert.equal(faultOf({ from: 'src/config/a.ts', to: kinds }), null);
  assert.match(faultOf({ from: 'src/config/a.ts', to: 'src/channel/x/kind.ts' }) ?? '', /meet at/);
  assert.match(faultOf({ from: 'src/channel/x/kind.ts', to: 'src/channel/x/x.ts' }) ?? '', /floor/);
  assert.match(faultOf({ from: 'src/domain/a.ts', to: kinds }) ?? '', /floor/);
});

test('the pages take from src what a browser can run, and types of the API', () => {
  const faults = pages.flatMap(importsOf).flatMap(({ from, to }) => {
    const isPure =
      isKind(to) ||
      to === 'apps/setup/setup.ts' ||
      to === 'src/app/test-cases/expectation.ts' ||
      (/^src\/(config|domain)\//.test(to) && !hasDisk.test(to));
    if (!to.startsWith('src/') || isPure) return [];
    const line = readFileSync(join(root, from), 'utf8').match(
      new RegExp(`import type [^;]*${RegExp.escape(to.slice('src/'.length))}'`),
    );
    const isTold = /^src\/(?:admin\/|setup\/|desktop\/desktop\.ts)/.test(to);
    return isTold && line !== null ? [] : [`${from} imports ${to}`];
  });
  assert.ok(pages.length > 10, 'the pages were found');
  assert.deepEqual(faults, []);
});

test('a messenger is named by its own folder, its line of kinds.ts and its maker alone', () => {
  const words = channelKinds
    .filter(({ isMessenger }) => isMessenger)
    .flatMap(({ type, name, synonyms }) => [type, name, ...synonyms]);
  const named = new RegExp(words.map((word) => RegExp.escape(word)).join('|'), 'i');
  const faults = [...sources, ...pages].filter((file) => {
    if (/\.test\.ts$|^src\/(?:channel\/(?:[^/]+\/|kinds\.ts)|service\.ts)/.test(file)) return false;
    return named.test(readFileSync(join(root, file), 'utf8'));
  });
  assert.deepEqual(faults, []);
});

test('folders are made by src/lib/make-folder.ts, since the one of Node may never end', () => {
  const recursive = /\bmkdir(?:Sync)?\([^;]*recursive: true/;
  const faults = sources.filter((file) => {
    if (file.endsWith('.test.ts')) return false;
    return recursive.test(readFileSync(join(root, file), 'utf8'));
  });
  assert.deepEqual(faults, []);
});

test('a file has at most 900 lines, a line at most 100 columns', () => {
  const folders = '{src,test,bench,scripts,bin,web/*}';
  const all = globSync(`${folders}/**/*.{ts,tsx,js,mjs,css}`, { cwd: root }).filter(
    (file) => !file.startsWith('web/dist/'),
  );
  const faults = all.flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    // A list of class names is one word to the formatter.
    const wide = lines.findIndex(
      (line) => line.length > 100 && !/https?:\/\/|className=["{`]/.test(line),
    );
    return [
      ...(lines.length > 901 ? [`${file} has ${lines.length} lines`] : []),
      ...(wide >= 0 ? [`${file}:${wide + 1} is wider than 100 columns`] : []),
    ];
  });
  assert.deepEqual(faults, []);
});

test('a function has at most 80 lines', () => {
  const scripts = globSync('scripts/*.ts', { cwd: root });
  const faults = [...sources, ...pages, ...scripts].flatMap((file) => longFunctions(file, 80));
  assert.deepEqual(faults, []);
});

/** By the formatter's layout: a function or method opens with `{` and closes at its own indent. */
function longFunctions(file: string, most: number): string[] {
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  const name = String.raw`(?:static |private |async |get |set )*[#\w[\].]+\(.*\)[^;=]*`;
  const arrow = String.raw`(?:const \w+ = (?:async )?)?\(.*\)[^;]*=>.*`;
  const opens = new RegExp(
    String.raw`^(\s*)(?:export )?(?:async )?(?:function\b.*|${arrow}|${name})\{$`,
  );
  return lines.flatMap((line, index) => {
    const match = opens.exec(line);
    if (match === null || /^\s*(?:if|for|while|switch|catch)\b/.test(line)) return [];
    const end = lines.findIndex((other, at) => at > index && other.startsWith(`${match[1]}}`));
    const length = end - index + 1;
    return length > most ? [`${file}:${index + 1} has ${length} lines`] : [];
  });
}

test('public names are named: no default export, no enum, no barrel', () => {
  const faults = sources.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return /^export default|^(?:export )?(?:const )?enum |^export \* from/m.test(text);
  });
  assert.deepEqual(faults, []);
});
