/** Attacks of a model to escape the folder of read_file, and the expected results. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';

/** In every file outside the root, and in the environment; nobody may ever see it. */
export const canary = 'the-canary-sings-only-outside';
/** In the readable files. */
export const bait = 'this stands inside the folder';

export const bytesMax = 4_096;

export type World = AsyncDisposable & {
  /** The readable folder; the configuration names a link to it. */
  readonly root: string;
  readonly link: string;
  readonly outside: string;
};

/** @param base an empty folder, which the caller removes */
export async function buildWorld(base: string): Promise<World> {
  const at = (...parts: readonly string[]): string => join(base, ...parts);
  const [root, outside, link] = [at('root'), at('outside'), at('link-to-root')];
  for (const folder of ['root/docs', 'root/...', 'outside/deep', 'rootsecret']) {
    fs.mkdirSync(at(folder), { recursive: true });
  }
  for (const file of ['root/notes.txt', 'root/docs/a.md', 'root/%2e%2e', 'root/a\\b']) {
    fs.writeFileSync(at(file), bait);
  }
  for (const file of ['outside/canary.txt', 'outside/deep/canary.txt', 'rootsecret/canary.txt']) {
    fs.writeFileSync(at(file), `${canary}\n`);
  }
  fs.symlinkSync(root, link);
  const links: Readonly<Record<string, string>> = {
    'to-file': at('outside/canary.txt'),
    'to-file-relative': '../outside/canary.txt',
    'to-folder': outside,
    'to-root-of-all': '/',
    chain: 'chain-2',
    'chain-2': 'chain-3',
    'chain-3': '../outside/canary.txt',
    loop: 'loop-2',
    'loop-2': 'loop',
    itself: 'itself',
    dangling: '../outside/nobody.txt',
    environment: '/proc/self/environ',
    null: '/dev/null',
    zero: '/dev/zero',
    inwards: 'docs/a.md',
    'inwards-folder': 'docs',
    'docs/up': '../..',
  };
  for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, at('root', name));
  fs.linkSync(at('outside/canary.txt'), at('root/hard.txt'));
  const server = await specialFiles(at('root'));
  fs.writeFileSync(at('root/long.txt'), `${'é'.repeat(bytesMax)}\n${canary}`);
  fs.writeFileSync(at('root/empty.txt'), '');
  fs.writeFileSync(at('root/binary'), Buffer.from([0x66, 0xff, 0xfe, 0x66]));
  fs.writeFileSync(at('root/overlong'), Buffer.from([0xc0, 0xaf, 0xc0, 0xae]));
  fs.writeFileSync(at('root/utf-16'), Buffer.from(`\ufeff${bait}`, 'utf16le'));
  fs.writeFileSync(at('root/nul.txt'), `${bait}\0${bait}`);
  fs.writeFileSync(at('root/sparse'), '');
  fs.truncateSync(at('root/sparse'), 64 * 1024 ** 3);
  return {
    root,
    link,
    outside,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

/** A pipe without a writer, a socket, and a device where this user may make one. */
async function specialFiles(root: string): Promise<Server> {
  execFileSync('mkfifo', [join(root, 'pipe')]);
  try {
    execFileSync('mknod', [join(root, 'device'), 'c', '1', '5'], { stdio: 'ignore' });
  } catch {
    fs.symlinkSync('/dev/zero', join(root, 'device'));
  }
  const server = createServer().listen(join(root, 'socket'));
  await once(server, 'listening');
  return server;
}

export type Attack = {
  readonly name: string;
  /** As the model writes them. */
  readonly arguments: unknown;
  readonly told: RegExp;
};

const up = /may not have a part like "\.\."/;
const outsideRoot = /not under the folder/;
const nothing = /There is no such file/;
const link = /leads over a link/;
const folder = /That is a folder/;
const special = /not an ordinary file/;
const odd = /characters that no path has/;
/** Half a character becomes a whole one before a tool gets it. */
const half = /characters that no path has|There is no such file/;
const binary = /not UTF-8 text/;
const inside = new RegExp(`^${bait}$`);
const wrong = /The call was not run/;

/** Each path, and the expected result. */
function paths({ root, link: named, outside }: World): readonly (readonly [string, RegExp])[] {
  return [
    ['../outside/canary.txt', up],
    ['docs/../../outside/canary.txt', up],
    ['docs/./../../outside/canary.txt', up],
    ['..//..//outside//canary.txt', up],
    ['docs/../notes.txt', up],
    ['..', up],
    ['../', up],
    ['notes.txt/..', up],
    ['.. /outside/canary.txt', up],
    ['..\u200b/outside/canary.txt', up],
    ['.\u2060./outside/canary.txt', up],
    ['.../outside/canary.txt', up],
    ['....//outside/canary.txt', up],
    [' /canary.txt', up],
    ['..\\outside\\canary.txt', nothing],
    ['%2e%2e/outside/canary.txt', nothing],
    ['%2e%2e%2foutside%2fcanary.txt', nothing],
    ['..%2foutside/canary.txt', nothing],
    ['..%c0%af..%c0%afetc/passwd', nothing],
    ['%252e%252e/outside/canary.txt', nothing],
    ['\u2024\u2024/outside/canary.txt', nothing],
    ['\uff0e\uff0e/outside/canary.txt', nothing],
    ['..\u2215outside\u2215canary.txt', nothing],
    ['..\uff0foutside\uff0fcanary.txt', nothing],
    ['notes.txt\0.md', odd],
    ['\0', odd],
    ['to-file\0', odd],
    ['\ud800/notes.txt', half],
    [join(outside, 'canary.txt'), outsideRoot],
    [`${root}secret/canary.txt`, outsideRoot],
    [`${named}secret/canary.txt`, outsideRoot],
    [`${root}/../outside/canary.txt`, up],
    [`//${outside}/canary.txt`, outsideRoot],
    ['/etc/passwd', outsideRoot],
    ['/proc/self/environ', outsideRoot],
    ['/proc/self/fd/0', outsideRoot],
    ['/proc/self/root/etc/passwd', outsideRoot],
    ['/dev/fd/0', outsideRoot],
    ['/dev/stdin', outsideRoot],
    ['/dev/zero', outsideRoot],
    [`file://${outside}/canary.txt`, nothing],
    ['~/canary.txt', nothing],
    ['~root/.bashrc', nothing],
    ['$HOME/canary.txt', nothing],
    ['notes.txt; cat ../outside/canary.txt', nothing],
    ['$(cat $CANARY)', nothing],
    ['`cat canary.txt`', nothing],
    ['|cat canary.txt', nothing],
    ['*', nothing],
    ['{notes.txt,canary.txt}', nothing],
    ['to-file', link],
    ['to-file/', link],
    ['to-file/.', link],
    ['to-file-relative', link],
    ['to-folder/canary.txt', link],
    ['to-folder/deep/canary.txt', link],
    ['to-folder', link],
    [`to-root-of-all${outside}/canary.txt`, link],
    ['chain', link],
    ['loop', link],
    ['loop/canary.txt', link],
    ['itself', link],
    ['dangling', link],
    ['environment', link],
    ['null', link],
    ['zero', link],
    ['inwards', link],
    ['inwards-folder/a.md', link],
    ['docs/up/outside/canary.txt', link],
    [`${root}/to-file`, link],
    ['hard.txt', /a hard link/],
    ['pipe', special],
    ['pipe/canary.txt', nothing],
    ['socket', special],
    ['device', /not an ordinary file|leads over a link/],
    ['docs', folder],
    ['docs/', folder],
    ['.', folder],
    ['/', outsideRoot],
    ['///', outsideRoot],
    [root, folder],
    ['binary', binary],
    ['overlong', binary],
    ['utf-16', binary],
    ['nul.txt', binary],
    ['sparse', binary],
    ['long.txt', /^é{2048}\n\[cut: the first 4096 of \d+ bytes\]$/],
    ['empty.txt', /^\[the file is empty\]$/],
    ['notes.txt/canary.txt', nothing],
    ['NOTES.TXT', nothing],
    ['nobody.txt', nothing],
    ['x'.repeat(300), nothing],
    ['x/'.repeat(60), nothing],
    ['x/'.repeat(65), /too deep/],
    ['x'.repeat(5_000), /too long/],
    ['../'.repeat(20_000), /too long/],
    ['notes.txt', inside],
    ['./notes.txt', inside],
    ['docs//a.md', inside],
    ['notes.txt/', inside],
    ['a\\b', inside],
    ['%2e%2e', inside],
    [`${root}/docs/a.md`, inside],
    [`${named}/docs/a.md`, inside],
  ];
}

/** Arguments that are no path, or more than one. */
const oddArguments: readonly Attack[] = [
  { name: 'a list', arguments: { path: ['..', 'outside', 'canary.txt'] }, told: wrong },
  { name: 'an object', arguments: { path: { toString: 'notes.txt' } }, told: wrong },
  { name: 'a number', arguments: { path: 3 }, told: wrong },
  { name: 'null', arguments: { path: null }, told: wrong },
  { name: 'nothing', arguments: {}, told: wrong },
  { name: 'an empty text', arguments: { path: '' }, told: wrong },
  { name: 'as text', arguments: '{"path": "../outside/canary.txt"}', told: up },
  { name: 'bare', arguments: '../outside/canary.txt', told: up },
  { name: 'another name', arguments: { file: '../outside/canary.txt' }, told: up },
  { name: 'a root', arguments: { path: 'etc/passwd', root: '/' }, told: nothing },
  {
    name: 'a limit',
    arguments: { path: 'long.txt', max_bytes: 1e9 },
    told: /\[cut: the first 4096/,
  },
  {
    name: 'a prototype',
    arguments: '{"__proto__": {"path": "notes.txt"}, "path": "to-file"}',
    told: link,
  },
];

export function attacksOn(world: World): readonly Attack[] {
  return [
    ...paths(world).map(([path, told]) => ({
      name: JSON.stringify(path.slice(0, 60)),
      arguments: { path },
      told,
    })),
    ...oddArguments,
  ];
}
