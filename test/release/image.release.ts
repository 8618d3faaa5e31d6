/** Runs the image with its own configuration. */
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { run } from '../../scripts/release/run.ts';
import { isOnPath } from '../../src/lib/executable.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import {
  freePort,
  post,
  programOf,
  scratch,
  webhookConfig,
  writeConfig,
} from '../support/program.ts';
import { runProgram } from '../support/run-svc.ts';
import {
  commandIn,
  firstOf,
  giveTo,
  healthCheckIn,
  noContainer,
  openImage,
  stopContainer,
  type Image,
} from './container.ts';
import { made } from './made.ts';
import { secrets, smoke, version, type Installed } from './smoke.ts';

const { path: archive, skip: notThere } = made('image', `svc-${version}-image.tar`);
const skip = notThere === false ? noContainer : notThere;

suite('the image', { skip }, () => {
  let place: Awaited<ReturnType<typeof scratch>>;
  let image: Image;
  before(async () => {
    place = await scratch();
    image = await openImage(archive, place.path);
  });
  after(() => place[Symbol.asyncDispose]());

  test('it does all that svc does, as its user, with a root that nobody can write', (t) => {
    const installed: Installed = {
      command: (folder) => commandIn(image, { folder, at: folder }),
      give: (folder) => giveTo(image.config, folder),
      stop: stopContainer,
    };
    return smoke(t, installed);
  });

  test('as it is, it serves what lies in its volume, and the next container goes on', async () => {
    await using data = await scratch();
    await using model = await startFakeOllama({ answer: 'hello yourself' });
    await using receiver = await startReceiver();
    const [port, adminPort] = [await freePort(), await freePort()];
    const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
    const admin = { token_env: 'ADMIN_TOKEN' };
    await writeConfig(data.path, { ...webhookConfig(where), storage: { path: 'svc.db' }, admin });
    giveTo(image.config, data.path);
    for (const answered of [0, 1]) {
      const [program, ...args] = commandIn(image, { folder: data.path, at: '/data' });
      const begun = runProgram(program!, [...args, ...image.config.Cmd], { env: secrets });
      await using service = programOf(begun);
      await service.saw('"listening"');
      await assertWalledIn(service.child, image);
      await assertHealthy(service.child, image);
      const headers = { authorization: `Bearer ${secrets.ADMIN_TOKEN}` };
      const answer = await fetch(`http://127.0.0.1:${adminPort}/api/v1/messages`, { headers });
      const { rows } = (await answer.json()) as { readonly rows: readonly unknown[] };
      assert.equal(rows.length, answered);
      const message = { sender_id: 'ada', text: 'hello' };
      assert.equal((await post(`http://127.0.0.1:${port}/webhook`, message)).status, 200);
      await receiver.waitFor(answered + 1);
      await stopContainer(service.child);
      assert.equal(await service.ended, 0, service.log());
    }
    const { uid } = await stat(join(data.path, 'svc.db'));
    assert.equal(`${uid}`, image.config.User.split(':')[0]);
  });

  const noBuildah = isOnPath('buildah', process.env)
    ? false
    : 'NOT TRIED: a reader of images; install buildah.';
  test('another program reads it, and runs it', { skip: noBuildah }, async () => {
    await using own = await scratch();
    const policy = join(own.path, 'policy.json');
    await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
    const storage = ['root', 'runroot'].flatMap((name) => [`--${name}`, join(own.path, name)]);
    const buildah = (...args: readonly string[]): Promise<string> => {
      const env = { TMPDIR: own.path };
      return run('buildah', [...storage, '--storage-driver', 'vfs', ...args], { env });
    };
    const from = `docker-archive:${archive}`;
    const container = (await buildah('from', '--signature-policy', policy, from)).trim();
    const words = [...image.config.Entrypoint, 'version'];
    const said = await buildah('run', '--isolation', 'chroot', container, ...words);
    assert.equal(said, `svc ${version}\n`);
    await buildah('rm', container);
  });

  test('nobody but root owns a file in it, but for the volume', () => {
    const owners = image.files.filter((line) => !/^\S+ 0\/0 /.test(line));
    assert.deepEqual(owners.length, 1);
    assert.match(owners[0]!, /^drwx\S+ 10001\/10001 .* data\/?$/);
    const writable = image.files.filter((line) => /^[-d].{7}w/.test(line));
    assert.deepEqual(
      writable.map((line) => line.split(' ').at(-1)!.replace(/\/$/, '')),
      ['tmp'],
    );
    assert.ok(
      image.files.every((line) => !/^\S*s/.test(line)),
      'no file runs as its owner',
    );
  });

  test('it has no shell, and no program but Node', async () => {
    const programs = ['bin', 'sbin', 'usr/sbin', 'usr/bin'].map((name) => join(image.root, name));
    const found = await Promise.all(programs.map((one) => readdir(one).catch(() => [])));
    assert.deepEqual(found.flat().sort(), ['node', 'svc']);
  });
});

/** It is the first process of its container, runs as its user, and cannot write the root. */
async function assertWalledIn(child: ChildProcess, { config }: Image): Promise<void> {
  const about = `/proc/${firstOf(child)}`;
  const status = await readFile(join(about, 'status'), 'utf8');
  const [uid, gid] = config.User.split(':');
  assert.match(status, new RegExp(`^Uid:\\s+${uid}\\s.*\\nGid:\\s+${gid}\\s`, 'm'));
  assert.match(status, /^NSpid:\s+\d+\s+1$/m);
  assert.match(status, /^CapEff:\s+0+$/m);
  assert.match(await readFile(join(about, 'mountinfo'), 'utf8'), /^\d+ \d+ \S+ \S+ \/ ro,/m);
}

async function assertHealthy(child: ChildProcess, image: Image): Promise<void> {
  const [program, ...args] = healthCheckIn(image, child);
  const check = runProgram(program!, args, { env: secrets });
  check.child.stdin?.end();
  assert.deepEqual(await check.ended, { code: 0, signal: null }, check.out() + check.err());
}
