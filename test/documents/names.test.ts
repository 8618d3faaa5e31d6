/** The files, headings, commands, flags and scripts that the documents name exist. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { documents as everyDocument, tooLong } from '../../scripts/prose.ts';
import { validateText } from '../../src/config/validate.ts';
import { sentences } from '../../src/pipeline/sentences.ts';
import { ids } from '../fake/admin-ledger.ts';
import { adminToken, makeWorld, openAdmin, revision, withToken } from '../fake/admin-world.ts';
import { runCommand } from '../support/in-process.ts';
import { blocksOf, pages, textOf } from './blocks.ts';

const root = join(import.meta.dirname, '../..');
const documents = globSync(['*.md', '{docs,examples,src,apps,web}/**/*.md'], { cwd: root }).map(
  (name) => {
    return { name, text: readFileSync(join(root, name), 'utf8') };
  },
);

/** Each match of the pattern in any document; its first group is the name. */
function named(pattern: RegExp): readonly { where: string; what: string }[] {
  const found = documents.flatMap(({ name, text }) =>
    Array.from(text.matchAll(pattern), ([, what]) => ({ where: name, what: what! })),
  );
  assert.ok(found.length > 3, `the documents hold ${pattern}`);
  return found;
}

/** Makes anchors of headings, as GitHub does. */
function anchorsOf(text: string): readonly string[] {
  return Array.from(text.matchAll(/^#+ (.*)$/gm), ([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('every link leads to a file, and to a heading of it', () => {
  for (const { where, what } of named(/\]\((?!\w+:)([^)\s]+)\)/g)) {
    const [path, anchor] = what.split('#');
    const file = path === '' ? join(root, where) : join(root, dirname(where), path!);
    assert.ok(existsSync(file), `${where} links to ${what}`);
    if (anchor === undefined) continue;
    const anchors = anchorsOf(readFileSync(file, 'utf8'));
    assert.ok(anchors.includes(anchor), `${where} links to ${what}`);
  }
});

test('no page of a package links to what only a checkout has', () => {
  const packed = /^(?:README\.md$|docs(?:\/|$)|examples(?:\/|$))/;
  for (const { where, what } of named(/\]\((?!\w+:)([^)\s]+)\)/g)) {
    if (!packed.test(where)) continue;
    const [path = ''] = what.split('#');
    const file = path === '' ? where : join(dirname(where), path);
    assert.match(file.replaceAll('\\', '/'), packed, `${where} links to ${what}`);
  }
});

test('the first page of each folder of documents lists every page of the folder', () => {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const linksOf = (path: string): readonly string[] =>
    Array.from(read(path).matchAll(/\]\(([^)#\s]+)/g), ([, link]) => link!);
  const folders = globSync('docs/*/README.md', { cwd: root }).map((path) => dirname(path));
  assert.ok(folders.length >= 6, 'the folders were found');
  for (const folder of folders) {
    const links = linksOf(join(folder, 'README.md'));
    for (const page of globSync('*.md', { cwd: join(root, folder) })) {
      if (page === 'README.md') continue;
      assert.ok(links.includes(page), `${folder}/README.md does not list ${page}`);
    }
    const first = `${basename(folder)}/README.md`;
    assert.ok(linksOf('docs/README.md').includes(first), `docs/README.md does not list ${first}`);
  }
});

test('no document has the same paragraph or table twice', () => {
  for (const { name, text } of documents) {
    const outside = text.replaceAll(/^ *```[^]*?^ *```/gm, '');
    const blocks = outside.split(/\n{2,}/).map((block) => block.trim());
    const long = blocks.filter((block) => block.length > 60);
    const twice = long.filter((block, at) => long.indexOf(block) !== at);
    assert.deepEqual(twice, [], name);
  }
});

test('every document is told in sentences and paragraphs that are read once', () => {
  const long = everyDocument().flatMap((path) =>
    tooLong(readFileSync(join(root, path), 'utf8')).map((line) => `${path}: ${line}`),
  );
  assert.deepEqual(long, []);
});

test('every source file that is named in full exists', () => {
  for (const { where, what } of named(/`([\w.-]+\/[\w./-]+\.(?:ts|js|json|md|sql))`/g)) {
    const isThere = [root, join(root, dirname(where))].some((from) => existsSync(join(from, what)));
    assert.ok(what.startsWith('dist/') || isThere, `${where}: ${what}`);
  }
});

test('every npm script that is named exists', () => {
  const text = readFileSync(join(root, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as { scripts: Record<string, string> };
  for (const { where, what } of named(/npm run ([\w:-]+)/g)) {
    assert.ok(Object.hasOwn(scripts, what), `${where}: npm run ${what}`);
  }
});

test('the guide quotes every sentence of svc itself', () => {
  const guide = readFileSync(join(root, 'docs/reference/webhook.md'), 'utf8');
  for (const sentence of Object.values(sentences)) assert.ok(guide.includes(`_${sentence}_`));
});

/** Splits a line into words like a shell, with both kinds of quotes and nothing else. */
function wordsOf(line: string): readonly string[] {
  const words = line.matchAll(/'([^']*)'|"((?:\\.|[^"\\])*)"|(\S+)/g);
  return Array.from(words, ([, single, double, bare]) => {
    return single ?? double?.replaceAll(/\\(.)/g, '$1') ?? bare!;
  });
}

/** Parses the request of a curl line; a file becomes an empty object. */
function curlOf(line: string) {
  const asked = { method: 'GET', head: ['Host: 127.0.0.1:2112'], body: '', path: '' };
  const words = wordsOf(line).values();
  for (const word of words) {
    const value = (): string => words.next().value ?? '';
    if (word === '-X') {
      asked.method = value();
    } else if (word === '-H') {
      asked.head.push(value());
    } else if (word === '--data-binary') {
      asked.body = value().replace(/^@.*/, '{}');
    } else if (word === '--json') {
      asked.method = 'POST';
      asked.head.push('Content-Type: application/json');
      asked.body = value().replace(/^@.*/, '{}');
    } else {
      asked.path = /^http:\/\/127\.0\.0\.1:2112(\/.*)$/.exec(word)?.[1] ?? '';
    }
    assert.ok(word.startsWith('-') || asked.path !== '', `${word} in ${line}`);
  }
  if (asked.body !== '') asked.head.push(`Content-Length: ${Buffer.byteLength(asked.body)}`);
  return asked;
}

test('every curl line of the admin guide is answered', async () => {
  await using admin = await openAdmin(makeWorld(), { access: withToken });
  const guide = readFileSync(join(root, 'docs/reference/admin.md'), 'utf8').replaceAll(
    /\\\n */g,
    '',
  );
  const lines = Array.from(guide.matchAll(/^curl -s (.*?)(?: +[#|].*)?$/gm), ([, line]) => line!);
  assert.ok(lines.length > 8);
  for (const line of lines) {
    const filled = line
      .replace('$ADMIN_TOKEN', adminToken)
      .replace('$ID', ids.message)
      .replace('$LETTER', ids.letter)
      .replace('$REVISION', revision)
      .replace('$EARLIER', ids.revision)
      .replace('$CONVERSATION', encodeURIComponent(ids.conversation))
      .replace('$SENDER', ids.sender)
      .replace('$NAME', ids.variable);
    const { method, path, head, body } = curlOf(filled);
    const { status } = await admin.send(method, path, head, body);
    assert.ok(status === 200 || status === 204, `${status}: ${line}`);
  }
});

async function helpOf(words: readonly string[]): Promise<string | null> {
  const { code, out } = await runCommand(['help', ...words]);
  return code === 0 ? out : null;
}

test('nothing calls svc by npx, which outside the checkout is a program of others', () => {
  const files = globSync(['{src,web,examples,bin,scripts}/**/*.*', 'svc*'], { cwd: root });
  const callers = [...documents.map(({ name }) => name), ...files].filter(
    (name) =>
      !name.startsWith('web/dist/') && /npx svc/.test(readFileSync(join(root, name), 'utf8')),
  );
  assert.deepEqual(callers, []);
});

test('every command of svc that is named exists, with its flags', async () => {
  for (const { where, what } of named(/(?:`|\.\/)svc ([a-z][^`#\n]*)/g)) {
    const words = what.trim().split(/\s+/);
    // The roles of svc's own processes are for nobody to call, and have no help.
    if (words[0] === 'internal') continue;
    const name = words.slice(0, words[0] === 'config' ? 2 : 1);
    const help = await helpOf(name);
    assert.ok(help !== null, `${where}: svc ${what}`);
    for (const [flag] of what.matchAll(/--[a-z-]+/g)) {
      assert.ok(help.includes(flag), `${where}: svc ${what}`);
    }
  }
});

test('whole configurations on pages are valid, and that of the README lets no stranger in', () => {
  const configurations = pages.flatMap((page) =>
    blocksOf(textOf(page))
      .filter(({ info, text }) => info[0] === 'json' && /"brains"[^]*"routes"/.test(text))
      .map(({ text }) => ({ page, validation: validateText(text) })),
  );
  assert.ok(configurations.some(({ page }) => page === 'README.md'));
  for (const { page, validation } of configurations) {
    const { kind, problems } = validation;
    assert.equal(kind, 'valid', `${page}: ${JSON.stringify(problems)}`);
    if (page === 'README.md') assert.deepEqual(problems, []);
  }
});
