/**
 * Runs the blocks of a page as a newcomer would: with an installed svc, in an empty folder, in a
 * network with only loopback. All its processes end together. Pages of a checkout find `./svc` and
 * the examples.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { PostgresServer } from '../fake/postgres/server.ts';
import { noOwnPostgres } from '../fake/postgres.ts';
import { scratch } from '../support/program.ts';
import { root } from '../support/run-svc.ts';
import { blocksOf, isShell, pages, textOf, type Block } from './blocks.ts';
import { isRun } from './marks.ts';
import { borderOf, scriptOf } from './script.ts';
import { stages } from './stages.ts';

/** The preconditions of a page. */
export type Stage = {
  /** Runs first, in the same shell. */
  readonly before?: string;
  /** A server at 127.0.0.1:5432; `sudo -u postgres` connects to it. */
  readonly postgres?: true;
  /** The reader has fetched the examples, as the page says. */
  readonly examples?: true;
};

/** Whether readers use the page in a checkout. */
const isOfCheckout = (page: string): boolean => /^(?:README\.md$|examples\/)/.test(page);

const tools = ['ip', 'unshare', 'bash', 'curl', 'jq', 'openssl'];
const apart = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const asOther = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];

/** Why no page can run here; false: they can. */
export function cannotRun(): string | false {
  if (process.platform !== 'linux') return 'only Linux has network namespaces';
  for (const tool of tools) {
    try {
      execFileSync('sh', ['-c', 'command -v "$0"', tool], { stdio: 'ignore' });
    } catch {
      return `there is no ${tool}`;
    }
  }
  try {
    const up = ['ip', 'link', 'set', 'lo', 'up'];
    execFileSync('unshare', [...asOther, ...apart, ...up], { stdio: 'ignore' });
    return false;
  } catch {
    return 'no network namespace can be made by this user';
  }
}

/**
 * Adds a test for each page with blocks to run.
 * @param place a page or a folder of them; null: all that need a server
 */
export function testPages(place: string | null): void {
  const skip = cannotRun();
  for (const page of pages) {
    const stage = stages[page] ?? {};
    const isHere = page === place || page.startsWith(`${place}/`);
    if (place === null ? stage.postgres !== true : !isHere || stage.postgres === true) continue;
    const blocks = blocksOf(textOf(page)).filter((block) => isShell(block) && isRun(block));
    if (blocks.length === 0) continue;
    const why = skip || (stage.postgres === true && noOwnPostgres);
    void test(`every command of ${page} runs`, { skip: why }, () => runBlocks(page, blocks, stage));
  }
}

/** Rejects where a line fails, or where the shown output does not appear. */
export async function runBlocks(
  page: string,
  blocks: readonly Block[],
  stage: Stage = {},
): Promise<void> {
  await using place = await scratch();
  const { home, bin, logs } = await furnish(place.path, { hasSvc: isOfCheckout(page), ...stage });
  await using server = stage.postgres === true ? await startServer() : null;
  const script = join(place.path, 'page.sh');
  const output = join(place.path, 'output');
  await writeFile(script, scriptOf(blocks, stage.before));
  const inside = join(import.meta.dirname, 'inside.ts');
  const args = [...asOther, ...apart, process.execPath, inside, script, output];
  const child = spawn('unshare', [...args, server?.socket ?? ''], {
    cwd: home,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: `${bin}:${process.env['PATH']}`,
      HOME: home,
      NO_COLOR: '1',
      // Otherwise every page would compile the program again.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      DOCUMENT_LOGS: logs,
      DOCUMENT_POSTGRES: server?.folder,
      DOCUMENT_POSTGRES_PORT: server?.port,
    },
  });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (part: string) => (told += part));
  const [code] = await once(child, 'close');
  const text = await readFile(output, 'utf8').catch(() => '');
  const outputs = outputsOf(text, blocks.length);
  const last = blocks[Math.max(0, outputs.length - 2)];
  assert.equal(code, 0, `${page}:${last?.line}\n${text}${told}`);
  for (const [index, { shown, line }] of blocks.entries()) {
    if (shown !== null) assertShown(outputs[index + 1]!, shown, `${page}:${line}`);
  }
}

/** Splits the output: the part before the first block, then each block that the shell reached. */
function outputsOf(text: string, count: number): readonly string[] {
  let rest = text;
  const outputs: string[] = [];
  for (let index = 0; index <= count; index++) {
    const border = `${borderOf(index)}\n`;
    const at = rest.indexOf(border);
    if (at < 0) break;
    outputs.push(rest.slice(0, at));
    rest = rest.slice(at + border.length);
  }
  return [...outputs, rest];
}

/**
 * Checks that each shown line appears, in order. `…` stands for any words; numbers, ids and times
 * may differ.
 */
export function assertShown(output: string, shown: string, where: string): void {
  const lines = output.split('\n').map(masked);
  let at = 0;
  for (const line of shown.split('\n')) {
    if (line === '' || line === '…') continue;
    const parts = masked(line).split('…');
    const pattern = new RegExp(`^${parts.map((part) => RegExp.escape(part)).join('.*')}$`);
    const found = lines.findIndex((one, index) => index >= at && pattern.test(one));
    assert.ok(found >= 0, `${where} shows “${line}”, which does not come:\n${output}`);
    at = found + 1;
  }
}

/** Removes the parts of a line that change from run to run, and the widths that depend on them. */
function masked(line: string): string {
  return line
    .replaceAll(/\b01[0-9a-z]{20}\b|\b[0-9a-f]{12}\b/g, '#')
    .replaceAll(/\d+(?:[.:-]\d+)*(?: (?:ms|s|min|h|KiB|MiB|GiB)\b)?/g, '#')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

async function furnish(
  folder: string,
  { hasSvc, examples = false }: { hasSvc: boolean; examples?: boolean },
): Promise<{ home: string; bin: string; logs: string }> {
  const [home, bin, logs] = [join(folder, 'home'), join(folder, 'bin'), join(folder, 'logs')];
  for (const one of [home, bin, logs]) await mkdir(one);
  if (hasSvc || examples) {
    await cp(join(root, 'examples'), join(home, 'examples'), { recursive: true });
  }
  for (const place of hasSvc ? [home, bin] : [bin]) {
    await symlink(join(root, 'svc'), join(place, 'svc'));
  }
  await symlink(process.execPath, join(bin, 'node'));
  return { home, bin, logs };
}

type Server = AsyncDisposable & { socket: string; folder: string; port: string };

/** Starts a server like Debian's package: its only user is postgres, with all rights. */
async function startServer(): Promise<Server> {
  const server = await PostgresServer.start();
  const ask = (user: string, words: string): void => {
    const args = ['-h', server.folder, '-p', String(server.port), '-U', user, '-c', words];
    execFileSync('psql', [...args, 'postgres'], { stdio: 'ignore' });
  };
  ask('svc', 'CREATE ROLE postgres SUPERUSER LOGIN');
  ask('postgres', 'ALTER ROLE svc RENAME TO svc_of_the_test');
  return {
    socket: join(server.folder, `.s.PGSQL.${server.port}`),
    folder: server.folder,
    port: String(server.port),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
