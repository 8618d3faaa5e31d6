/**
 * What every form in which svc is published does once it is installed: it says its version, answers
 * a message, shows its pages, finishes what is in hand when it is told to stop, and takes over what
 * the release before has left. The tests of the forms share it.
 */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { freePort, post, programOf, scratch, secret, webhookConfig } from '../support/program.ts';
import { writeConfig, type Program } from '../support/program.ts';
import { root, runProgram, type Run } from '../support/run-svc.ts';
import { assertAllGoesOn } from '../kept-releases/found.ts';
import { keptReleases } from '../kept-releases/kept.ts';

/** How svc is run where it is installed. */
export type Installed = {
  /**
   * The program, and the arguments before those of svc; or what they are for a folder that svc
   * works in, which a container has to be given.
   */
  readonly command: readonly string[] | ((folder: string) => readonly string[]);
  /** That folder when left out. */
  readonly cwd?: string;
  /** Beside what the smoke sets; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Makes a folder one that svc may write in, where it runs as somebody else. */
  readonly give?: (folder: string) => void | Promise<void>;
  /** Tells it to stop; by SIGTERM to the process of the command when left out. */
  readonly stop?: (child: ChildProcess) => void | Promise<void>;
};

const adminToken = 'an-admin-token-of-the-smoke-tests';

export const secrets = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: adminToken } as const;

/** Of the release. */
export const version = (
  JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string }
).version;

/** Of the package for Debian, where a release candidate comes before its release. */
export const debName = `svc_${version.replaceAll('-', '~')}_amd64.deb`;

/** Tries all of it, each as a test below `t`. */
export async function smoke(t: TestContext, installed: Installed): Promise<void> {
  await t.test('it says its version', () => assertVersion(installed));
  await t.test('it answers a message, shows its pages, and drains', () => assertServes(installed));
  await t.test('it goes on with what the release before left', () => assertUpgrades(installed));
}

/** Runs `svc <args>` of it. @param folder that it works in */
export function runInstalled(installed: Installed, folder: string, args: readonly string[]): Run {
  const { command, cwd = folder, env = {} } = installed;
  const [program = '', ...first] = typeof command === 'function' ? command(folder) : command;
  return runProgram(program, [...first, ...args], {
    cwd,
    env: {
      HOME: folder,
      XDG_CACHE_HOME: undefined,
      XDG_CONFIG_HOME: undefined,
      // These are of the process of the tests.
      NODE_COMPILE_CACHE: undefined,
      NODE_OPTIONS: undefined,
      SVC_FROM_SOURCES: undefined,
      ...secrets,
      ...env,
    },
  });
}

/** `svc serve` of it on that configuration, once it listens. */
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

/** On the database and the configuration that the release before has left. */
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

/** @returns the text, which came with 200 and such a type */
async function fetched(url: string, type: RegExp): Promise<string> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${adminToken}` } });
  const text = await response.text();
  assert.equal(response.status, 200, `${url}: ${text.slice(0, 200)}`);
  assert.match(response.headers.get('content-type') ?? '', type, url);
  return text;
}
