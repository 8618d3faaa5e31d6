/**
 * The smoke test of every published form of svc after its install. It reports its version, answers
 * a message, and shows its pages. It finishes running work when it is stopped, and continues on the
 * data of the release before.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import {
  freePort,
  post,
  programOf,
  scratch,
  secret,
  webhookConfig,
  writeConfig,
  type Program,
} from '../support/program.ts';
import { root, runProgram, type Run } from '../support/run-svc.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases } from '../kept-releases/kept.ts';

/** The way to run an installed svc. */
export type Installed = {
  /**
   * The program and the arguments before those of svc. A function gets svc's working folder, which
   * a container needs to know.
   */
  readonly command: readonly string[] | ((folder: string) => readonly string[]);
  /** Default: that folder. */
  readonly cwd?: string;
  /** Further variables; `undefined` removes one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Lets svc write to a folder, where it runs as another user. */
  readonly give?: (folder: string) => void | Promise<void>;
  /** Stops it; default: SIGTERM to the process of the command. */
  readonly stop?: (child: ChildProcess) => void | Promise<void>;
};

const adminToken = 'an-admin-token-of-the-smoke-tests';

export const secrets = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken } as const;

/** The version of the release. */
export const version = (
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }
).version;

/** The Debian package's file, with a version that sorts a candidate before its release. */
export const debName = `svc_${version.replaceAll('-', '~')}_amd64.deb`;

/** Runs all checks, each as a test below `t`. */
export async function smoke(t: TestContext, installed: Installed): Promise<void> {
  await t.test('it says its version', () => assertVersion(installed));
  await t.test('it answers a message, shows its pages, and drains', () => assertServes(installed));
  await t.test('it goes on with what the release before left', () => assertUpgrades(installed));
}

/** Runs `svc <args>`. @param folder its working folder */
export function runInstalled(installed: Installed, folder: string, args: readonly string[]): Run {
  const { command, cwd = folder, env = {} } = installed;
  const [program = '', ...first] = typeof command === 'function' ? command(folder) : command;
  return runProgram(program, [...first, ...args], {
    cwd,
    env: {
      HOME: folder,
      XDG_CACHE_HOME: undefined,
      XDG_CONFIG_HOME: undefined,
      // These belong to the process of the tests.
      NODE_COMPILE_CACHE: undefined,
      NODE_OPTIONS: undefined,
      SVC_FROM_SOURCES: undefined,
      ...secrets,
      ...env,
    },
  });
}

/** Starts `svc serve` with that configuration, and waits until it listens. */
export async function serveInstalled(
  installed: Installed,
  folder: string,
  file: string,
): Promise<Program & { stop(): Promise<number | string> }> {
  await chmod(folder, 0o755);
  await installed.give?.(folder);
  const program = programOf(runInstalled(installed, folder, ['serve', '--config', file]));
  const stop = async (): Promise<number | string> => {
    if (installed.stop === undefined) program.child.kill('SIGTERM');
    else await installed.stop(program.child);
    return program.ended;
  };
  try {
    await program.saw('"listening"');
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
  return { ...program, stop };
}

async function assertVersion(installed: Installed): Promise<void> {
  await using folder = await scratch();
  const run = runInstalled(installed, folder.path, ['version']);
  run.child.stdin?.end();
  assert.deepEqual(await run.ended, { code: 0, signal: null }, run.err());
  assert.equal(run.out(), `svc ${version}\n`);
}

async function assertServes(installed: Installed): Promise<void> {
  await using folder = await scratch();
  await using model = await startFakeOllama({ answer: 'hello yourself' });
  await using receiver = await startReceiver();
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = {
    ...webhookConfig(where),
    storage: { path: 'svc.db' },
    admin: { token_env: 'ADMIN_TOKEN' },
  };
  const file = await writeConfig(folder.path, document);
  await using program = await serveInstalled(installed, folder.path, file);
  const url = `http://127.0.0.1:${port}/webhook`;

  const accepted = await post(url, { sender_id: 'ada', text: 'hello' });
  assert.equal(accepted.status, 200);
  const [reply] = await receiver.waitFor(1);
  assert.equal(reply!.body['text'], 'hello yourself');
  assert.equal(reply!.body['in_reply_to'], accepted.body['message_id']);

  await assertPages(`http://127.0.0.1:${adminPort}`);

  const held = Promise.withResolvers<void>();
  await model.script({ answer: 'late but here', after: held.promise });
  await post(url, { sender_id: 'ada', text: 'and now?' });
  await model.call(1);
  const stopped = program.stop();
  await program.saw('finishing what is in hand (1 message), for ');
  held.resolve();
  assert.equal(await stopped, 0, program.log());
  assert.equal((await receiver.waitFor(2))[1]!.body['text'], 'late but here');
}

/** Starts on the database and the configuration of the release before. */
async function assertUpgrades(installed: Installed): Promise<void> {
  const former = keptReleases().findLast((release) => release.version !== version);
  assert.ok(former, `test/golden/releases/ has none before ${version}`);
  await using world = await former.open('sqlite');
  const own = { ...installed, env: { ...world.env, ...installed.env } };
  await using program = await serveInstalled(own, world.folder, world.file);
  await assertAllGoesOn(world, former.expected);
  assert.equal(await program.stop(), 0, program.log());
}

const scripts = /^text\/javascript/;
const styles = /^text\/css/;

/** @param origin of the admin server */
async function assertPages(origin: string): Promise<void> {
  for (const path of ['/ui', '/builder']) {
    const text = await fetched(`${origin}${path}`, /^text\/html/);
    const assets = [...text.matchAll(/(?:src|href)="([^"]+\.(?:js|css|svg))"/g)].map(
      ([, asset]) => asset!,
    );
    assert.ok(
      assets.some((one) => one.endsWith('.js')) && assets.some((one) => one.endsWith('.css')),
    );
    for (const asset of assets) {
      const type = asset.endsWith('.js') ? scripts : asset.endsWith('.css') ? styles : /^image\//;
      assert.ok((await fetched(`${origin}${asset}`, type)).length > 0, asset);
    }
  }
}

/** @returns the text of an answer with 200 and this type */
async function fetched(url: string, type: RegExp): Promise<string> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${adminToken}` } });
  const text = await response.text();
  assert.equal(response.status, 200, `${url}: ${text.slice(0, 200)}`);
  assert.match(response.headers.get('content-type') ?? '', type, url);
  return text;
}
