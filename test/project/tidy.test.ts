/** The floors of the house and its limits of length: allowed imports, and sizes. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { channelKinds } from '../../src/channels/registry.ts';

const root = join(import.meta.dirname, '../..');
const sources = globSync('{src,apps}/**/*.ts', { cwd: root }).filter(
  (file) => !file.endsWith('.test.ts'),
);
const pages = globSync('web/*/**/*.{ts,tsx}', { cwd: root }).filter(
  (file) => !file.startsWith('web/dist/'),
);

/** Rooms within rooms. Other rooms import only their contract. */
const innerRooms = [
  'src/brains/models',
  'src/brains/policies',
  'src/brains/tools',
  'src/pipeline/attachments/picture',
  'src/pipeline/attachments/speech',
  'apps/desktop',
  'apps/setup',
];
/** The files of a room that other rooms may import. */
const contracts: Record<string, RegExp> = {
  'src/brains': /^src\/brains\/brain\.ts$/,
  'src/brains/models': /\/model\.ts$/,
  'src/brains/policies': /\/policy\.ts$/,
  'src/brains/tools': /\/tool\.ts$/,
  'src/channels': /^src\/channels\/channel\.ts$/,
  'src/cluster': /^src\/cluster\/cluster\.ts$/,
  'src/ledger': /^src\/ledger\/ledger\.ts$/,
  'src/pipeline/attachments/picture': /\/picture\.ts$/,
  'src/pipeline/attachments/speech': /\/speech\.ts$/,
  'src/secrets': /^src\/secrets\/secrets\.ts$/,
};
/** A file imports its own room and lower floors. */
const floors: Record<string, number> = {
  'src/lib': 0,
  'src/domain': 1,
  'src/config': 2,
  'src/telemetry': 2,
  // The facts of each channel: a room of its own, though each file is in its channel's folder.
  kinds: 2,
  'src/brains': 3,
  'src/brains/models': 3,
  'src/brains/policies': 3,
  'src/brains/tools': 3,
  'src/channels': 3,
  'src/cluster': 3,
  'src/ledger': 3,
  'src/secrets': 3,
  'src/pipeline/attachments/picture': 3,
  'src/pipeline/attachments/speech': 3,
  'src/pipeline': 4,
  'src/admin': 5,
  'src/app': 6,
  'apps/setup': 7,
  'apps/desktop': 8,
  'src/cli': 9,
  'src/main.ts': 10,
};
const isKind = (file: string): boolean =>
  /^src\/channels\/(?:kind|registry|[^/]+\/kind|messenger\/messenger-kind)\.ts$/.test(file);

/** The public face of `src`: the files that an application may import. */
const publicFace = [
  /^src\/(?:config|domain|lib)\//,
  /^src\/admin\/(?:application|http\/[\w-]+|schemas\/schema)\.ts$/,
  /^src\/admin\/routes\/(?:application|match|pages|route|sign-in)\.ts$/,
  /^src\/app\/(?:dry-run|keychain|practice-model|run|run-contract|service)\.ts$/,
  /^src\/app\/service-place\.ts$/,
  /^src\/app\/config\/(?:audited|file-on-disk|history|saved-file)\.ts$/,
  /^src\/app\/webhook-client\//,
  /^src\/channels\/(?:kind|registry)\.ts$/,
  /^src\/secrets\/secrets\.ts$/,
  /^src\/telemetry\/events\.ts$/,
];

/** Files of `lib` that a browser can run: the domain, the configuration and the pages use them. */
const pureOfLib = new Set(
  ['address-range', 'durations', 'for-shell', 'ip-address', 'json'].map(
    (one) => `src/lib/${one}.ts`,
  ),
);

/** The contracts that the admin room may import. */
const portsOfAdmin = /^src\/(?:ledger\/ledger|cluster\/cluster)\.ts$/;

type Import = { from: string; to: string };

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...found].map((match) => ({
    from: file,
    to: relative(root, join(root, dirname(file), match[1]!)),
  }));
}

/** `src/admin/http/auth.ts` is in the room `src/admin`; `src/main.ts` is a room of its own. */
function roomOf(file: string): string {
  if (isKind(file)) return 'kinds';
  const inner = innerRooms.find((room) => file.startsWith(`${room}/`));
  return inner ?? file.split('/').slice(0, 2).join('/');
}

/** Other code finds a kind by its type; only its own folder names it. */
const isDoor = (from: string, to: string): boolean =>
  dirname(from) === dirname(to) || /^src\/channels\/(?:kind|registry)\.ts$/.test(to);

function faultOf({ from, to }: Import): string | null {
  if (!/^(?:src|apps)\//.test(to)) return `${from} reaches outside src: ${to}`;
  const [here, there] = [roomOf(from), roomOf(to)];
  if (here === there) return null;
  if (floors[there] === undefined) return `${to} stands in a room without a floor`;
  if (floors[there] > floors[here]!) return `${from} imports ${to} from a higher floor`;
  if (there === 'src/cli' && here !== 'src/main.ts') return `${from} imports a command: ${to}`;
  if (here === 'src/domain' && !pureOfLib.has(to))
    return `${from} is a noun of the domain and imports ${to}`;
  if (here === 'src/lib') return `${from} knows nothing of messages but imports ${to}`;
  if (/^(?:src\/config|kinds)$/.test(here) && there === 'src/lib' && !pureOfLib.has(to)) {
    return `${from} is pure but imports ${to}`;
  }
  if (there === 'kinds' && !isDoor(from, to)) return `${from} imports ${to}: meet at registry.ts`;
  if (here === 'src/admin' && contracts[there] !== undefined && !portsOfAdmin.test(to)) {
    return `${from} imports a station: ${to}`;
  }
  if (
    here.startsWith('apps/') &&
    to.startsWith('src/') &&
    !publicFace.some((one) => one.test(to))
  ) {
    return `${from} imports ${to}, which is not of the public face of src`;
  }
  // Only the composition of the service names classes, not a command or a preflight. PostgreSQL
  // fills the port of the cluster.
  const mayName =
    (here === 'src/app' && !/^src\/app\/(?:preflight|webhook-client)\//.test(from)) ||
    (isOfCluster(from) && isOfCluster(to));
  if (!mayName && contracts[there]?.test(to) === false) {
    return `${from} imports ${to}: meet at the contract`;
  }
  return null;
}

/** A file behind the port of the cluster, which knows that several processes may be at work. */
const isOfCluster = (file: string): boolean =>
  /^src\/(?:cluster|ledger\/postgres)\/|^src\/ledger\/migrate\//.test(file);

test('imports go down, rooms meet by contract, the composition root alone names classes', () => {
  assert.ok(sources.length > 10, 'the sources were found');
  const faults = sources
    .flatMap(importsOf)
    .map(faultOf)
    .filter((fault) => fault !== null);
  assert.deepEqual(faults, []);
});

/** The parts of the configuration that read the disk, and those that import them. */
const hasDisk = /\/(agent-folders|file-only|inspect|mcp-pins|secrets)\.ts$/;

test('the pure floors import nothing of Node', () => {
  const pure = sources.filter(
    (file) =>
      file.startsWith('src/domain/') ||
      pureOfLib.has(file) ||
      isKind(file) ||
      (file.startsWith('src/config/') && !hasDisk.test(file)) ||
      /\/(wire|test-cases\/expectation)\.ts$|^src\/brains\/policies\//.test(file),
  );
  const faults = pure.filter((file) => /from 'node:/.test(readFileSync(join(root, file), 'utf8')));
  assert.deepEqual(faults, []);
});

test('the rule above sees a fault when there is one', () => {
  const fault = (from: string, to: string): string => faultOf({ from, to }) ?? '';
  assert.match(fault('src/lib/a.ts', 'src/domain/b.ts'), /higher floor/);
  assert.match(fault('src/pipeline/a.ts', 'src/ledger/memory/memory.ts'), /contract/);
  assert.match(fault('src/brains/responder.ts', 'src/brains/models/x/x.ts'), /contract/);
  assert.match(fault('src/cli/a.ts', 'src/ledger/memory/memory.ts'), /contract/);
  assert.match(fault('src/admin/a.ts', 'src/brains/models/model.ts'), /station/);
  assert.match(fault('src/app/a.ts', 'apps/setup/setup.ts'), /higher floor/);
  assert.match(fault('apps/setup/a.ts', 'src/app/runtime.ts'), /public face/);
  assert.equal(fault('src/pipeline/a.ts', 'src/ledger/ledger.ts'), '');
  const kinds = 'src/channels/registry.ts';
  assert.equal(fault('src/config/a.ts', kinds), '');
  assert.match(fault('src/config/a.ts', 'src/channels/x/kind.ts'), /meet at/);
  assert.match(fault('src/channels/x/kind.ts', 'src/channels/x/x.ts'), /floor/);
  assert.match(fault('src/domain/a.ts', kinds), /floor/);
});

test('the pages take from src what a browser can run, and types of the API', () => {
  const faults = pages.flatMap(importsOf).flatMap(({ from, to }) => {
    const isPure =
      isKind(to) ||
      to === 'apps/setup/setup.ts' ||
      to === 'src/app/test-cases/expectation.ts' ||
      pureOfLib.has(to) ||
      (/^src\/(config|domain)\//.test(to) && !hasDisk.test(to));
    if (!/^(?:src|apps)\//.test(to) || isPure) return [];
    const line = readFileSync(join(root, from), 'utf8').match(
      new RegExp(`import type [^;]*${RegExp.escape(to)}'`),
    );
    const isOfApi = /^(?:src\/admin\/|apps\/setup\/|apps\/desktop\/desktop\.ts)/.test(to);
    return isOfApi && line !== null ? [] : [`${from} imports ${to}`];
  });
  assert.ok(pages.length > 10, 'the pages were found');
  assert.deepEqual(faults, []);
});

test('a messenger is named by its own folder, its line of registry.ts and its maker alone', () => {
  const words = channelKinds
    .filter(({ isMessenger }) => isMessenger)
    .flatMap(({ type, name, synonyms }) => [type, name, ...synonyms]);
  const named = new RegExp(words.map((word) => RegExp.escape(word)).join('|'), 'i');
  const own = /^src\/(?:channels\/(?:[^/]+\/|registry\.ts)|app\/service\.ts)/;
  const faults = [...sources, ...pages].filter((file) => {
    if (file.endsWith('.test.ts') || own.test(file)) return false;
    return named.test(readFileSync(join(root, file), 'utf8'));
  });
  assert.deepEqual(faults, []);
});

test('the other processes on a database are met by the port of the cluster alone', () => {
  const faults = sources.flatMap((file) => [
    ...importsOf(file).flatMap(clusterFaultOf),
    ...clusterWordsIn(file, readFileSync(join(root, file), 'utf8')),
  ]);
  assert.deepEqual(faults, []);
});

test('the rule above sees a fault when there is one', () => {
  const from = 'src/app/a.ts';
  assert.equal(clusterFaultOf({ from, to: 'src/cluster/view.ts' }).length, 1);
  assert.equal(clusterFaultOf({ from, to: 'src/ledger/postgres/postgres.ts' }).length, 1);
  assert.deepEqual(clusterFaultOf({ from, to: 'src/cluster/cluster.ts' }), []);
  for (const line of [
    'const { peers } = store;',
    'type A = SharedView;',
    'sharedConfigs.begin();',
    'const otherInstances = [];',
  ]) {
    assert.equal(clusterWordsIn(from, `// A comment.\n${line}`).length, 1, line);
  }
  assert.deepEqual(clusterWordsIn(from, "// peers\nconst a = 'peers';"), []);
});

/** The rooms that make or show answers of the API, which number the instances. */
const showsInstances = /^(?:src\/(?:admin|cli|config|domain|telemetry)|apps)\//;

/** Only the composition root chooses a cluster: PostgreSQL's, or this process alone. */
function clusterFaultOf({ from, to }: Import): string[] {
  if (!isOfCluster(to) || isOfCluster(from) || to === 'src/cluster/cluster.ts') return [];
  const isChoice =
    from === 'src/app/storage.ts' ||
    (from === 'src/app/runtime.ts' && to === 'src/cluster/alone.ts');
  return isChoice ? [] : [`${from} imports ${to}: meet at src/cluster/cluster.ts`];
}

function clusterWordsIn(file: string, text: string): string[] {
  if (isOfCluster(file)) return [];
  const code = text.replace(/\/\*[^]*?\*\/|(?<![:'"])\/\/.*|'(?:[^'\\\n]|\\.)*'/g, '');
  const words: string[] =
    code.match(/\b(?:peers|\w*Peers|[sS]haredConfig\w*|[sS]haredView\w*)\b/g) ?? [];
  if (!showsInstances.test(file)) words.push(...(code.match(/\b\w*[iI]nstances?\b/g) ?? []));
  return [...new Set(words)].map((word) => `${file} names ${word}`);
}

test('folders are made by src/lib/make-folder.ts, since the one of Node may never end', () => {
  const recursive = /\bmkdir(?:Sync)?\([^;]*recursive: true/;
  const faults = sources.filter((file) => {
    if (file.endsWith('.test.ts')) return false;
    return recursive.test(readFileSync(join(root, file), 'utf8'));
  });
  assert.deepEqual(faults, []);
});

test('a file has at most 900 lines, a line at most 100 columns', () => {
  const folders = '{src,apps,test,bench,scripts,bin,web/*}';
  const all = globSync(`${folders}/**/*.{ts,tsx,js,mjs,css}`, { cwd: root }).filter(
    (file) => !file.startsWith('web/dist/'),
  );
  const faults = all.flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    // The formatter breaks neither a list of class names nor an import of one name.
    const wide = lines.findIndex(
      (line) => line.length > 100 && !/https?:\/\/|className=["{`]|^import /.test(line),
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

test('a file that a comment names is there', () => {
  const named = /(?<![\w/.*}-])((?:[\w@.-]+\/)*[\w-]+\.tsx?)\b/g;
  const all = globSync('{src,apps,web,test,scripts,bench}/**/*.{ts,tsx}', { cwd: root });
  const isThere = (name: string): boolean => {
    const path = `/${name.replace(/^(?:\.\.?\/)+/, '')}`;
    return all.some((file) => `/${file}`.endsWith(path));
  };
  const files = [...sources, ...pages, 'ARCHITECTURE.md'];
  const faults = files.flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    const comments = file.endsWith('.md') ? lines : lines.filter((line) => /\/\/|\*/.test(line));
    const names = comments.flatMap((line) => [...line.matchAll(named)].map((match) => match[1]!));
    return names.filter((name) => !isThere(name)).map((name) => `${file} names ${name}`);
  });
  assert.deepEqual(faults, []);
});

test('the papers stay short: the architecture, the glossary and the README of each room', () => {
  const text = (file: string): string => readFileSync(join(root, file), 'utf8');
  assert.ok(Buffer.byteLength(text('ARCHITECTURE.md')) <= 12 * 1024);
  const words = text('GLOSSARY.md')
    .split('\n')
    .filter((line) => /^\| (?!word|-)/.test(line));
  assert.ok(words.length > 20 && words.length <= 40, `${words.length} words`);
  const papers = globSync('{src,apps,web}/**/README.md', { cwd: root });
  const long = papers.filter((file) => text(file).split('\n').length - 1 > 60);
  assert.deepEqual(long, []);
  const large = Object.entries(linesMost).filter(([, most]) => most > 1_600);
  const without = large.filter(([room]) => !papers.includes(`${room}/README.md`));
  assert.deepEqual(without, []);
});

test('public names are named: no default export, no enum, no barrel', () => {
  const faults = sources.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return /^export default|^(?:export )?(?:const )?enum |^export \* from/m.test(text);
  });
  assert.deepEqual(faults, []);
});

test('no file imports itself by way of others, for a type either', () => {
  const imports = new Map([...sources, ...pages].map((file) => [file, importsOf(file)]));
  assert.deepEqual(cyclesIn(imports), []);
});

test('the rule above sees a cycle when there is one', () => {
  const imports = (all: Record<string, readonly string[]>): Map<string, Import[]> =>
    new Map(Object.entries(all).map(([from, tos]) => [from, tos.map((to) => ({ from, to }))]));
  assert.deepEqual(cyclesIn(imports({ a: ['b'], b: ['c'], c: ['b'] })), ['b → c → b']);
  assert.deepEqual(cyclesIn(imports({ a: ['b', 'c'], b: ['c'], c: [] })), []);
});

/** @returns one cycle for each import that closes one, as `a → b → a` */
function cyclesIn(imports: ReadonlyMap<string, readonly Import[]>): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  const follow = (file: string, path: readonly string[]): void => {
    const begin = path.indexOf(file);
    if (begin >= 0) cycles.push([...path.slice(begin), file].join(' → '));
    if (begin >= 0 || done.has(file)) return;
    for (const { to } of imports.get(file) ?? []) follow(to, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) follow(file, []);
  return cycles;
}

/**
 * The budget: the largest number of lines of a room, without tests. It is slightly above the
 * present number. Give the reason where you change a number.
 */
const linesMost: Record<string, number> = {
  'apps/desktop': 7_000,
  'apps/setup': 3_300,
  // The metrics page reads the use of budgets, and shows cost, approvals and first words.
  // Channels are found by name, bot or key. A receiver says whether some replies arrive. The
  // builder asks for the names of a provider's models. A view of many texts is one audit row.
  'src/admin': 9_040,
  'src/app': 7_440,
  'src/brains': 12_850,
  // Routes look at the former ids of groups and at the channels of threads. The
  // completions API is a channel: a frame for APIs, the JSON of this one, and its open requests.
  'src/channels': 10_600,
  // `svc routes` explains each route.
  'src/cli': 10_700,
  'src/cluster': 1_650,
  // The check of names, conditions and commands of routes, and their changes in words. The same
  // of the block `completions`, beside which channels and routes may be absent. A model in the
  // place of another is replaced.
  'src/config': 8_010,
  'src/domain': 5_010,
  // Lists have the first line of each text, go from the first message on, too, and have those
  // without an answer as one.
  'src/ledger': 27_800,
  'src/lib': 5_880,
  'src/main.ts': 150,
  // A message takes its route when it is accepted. A request has a turn of its own.
  'src/pipeline': 6_220,
  'src/secrets': 1_600,
  // The catalog has kind, labels and meaning of each metric, for the page and the reference.
  // A receiver tells a refusal of one reply from an outage. Health is judged again as time passes.
  'src/telemetry': 3_050,
};
/**
 * The limits of the program, and its goals. The last 2,700 lines came with the
 * completions API, half of them its channel.
 */
const whole = { lines: { most: 120_000, goal: 85_000 }, files: { most: 655, goal: 500 } };
/** The core, which a message needs with one process and SQLite: all imports of these files. */
const core = { from: ['app/running-config', 'app/runtime', 'app/service', 'ledger/sqlite/sqlite'] };
const coreLines = { most: 53_500, goal: 45_000 };

test('each room, the core and the whole stay within their budget of lines', (t) => {
  const row = (name: string, files: readonly string[], most: number, goal?: number) => {
    const lines = files.reduce((sum, file) => sum + linesOf(file), 0);
    const end = goal === undefined ? '' : `, in the end ${goal}`;
    t.diagnostic(`${name}: ${lines} lines in ${files.length} files; at most ${most}${end}`);
    return lines <= most ? [] : [`${name} has ${lines} lines, and may have ${most}`];
  };
  const rooms = [...new Set(sources.map((file) => file.split('/').slice(0, 2).join('/')))];
  const faults = rooms.sort().flatMap((room) => {
    const files = sources.filter((file) => file === room || file.startsWith(`${room}/`));
    return row(room, files, linesMost[room] ?? 0);
  });
  const reached = reachedFrom(core.from.map((name) => `src/${name}.ts`));
  faults.push(...row('the core', reached, coreLines.most, coreLines.goal));
  faults.push(...row('the whole', sources, whole.lines.most, whole.lines.goal));
  if (sources.length > whole.files.most) faults.push(`there are ${sources.length} files`);
  assert.deepEqual(faults, []);
});

function linesOf(file: string): number {
  return readFileSync(join(root, file), 'utf8').split('\n').length - 1;
}

/** The files that these files run. It follows neither types nor dynamic imports. */
function reachedFrom(files: readonly string[]): readonly string[] {
  const reached = new Set(files);
  for (const file of reached) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, names, path] of text.matchAll(/^(?:im|ex)port ([^;]*?)from '(\.[^']+)';/gm)) {
      const isOfTypes =
        names!.startsWith('type ') || /^\{(?:\s*type [^,}]+,?)+\s*\} $/.test(names!);
      if (!isOfTypes) reached.add(relative(root, join(root, dirname(file), path!)));
    }
  }
  return [...reached];
}
