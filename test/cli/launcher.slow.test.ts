/** bin/svc.js: the same program under a new Node and under an old one. */
import assert from 'node:assert/strict';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { spawn } from '@lydell/node-pty';
import {
  childrenOf,
  gone,
  launcher,
  oldNode,
  root,
  runProgram,
  type Run,
} from '../support/run-svc.ts';

const old = oldNode();
const skip = old === null ? 'no Node older than 24 is on the PATH of this machine' : false;

const signals = pathToFileURL(join(root, 'src/cli/frame/signals.ts')).href;
/** Replaces the program, and prints its input. */
const probe = `
import { writeFileSync } from 'node:fs';
import { listenForSignals } from ${JSON.stringify(signals)};
export async function main([act, value]) {
  const { stopping: { signal }, abandoning, onHangUp } = listenForSignals();
  if (value === 'hear') onHangUp(() => console.log('heard'));
  if (act === 'exit') process.exitCode = Number(value);
  if (act === 'die') process.kill(process.pid, value);
  if (act !== 'wait') return;
  if (value === 'stay') process.on('SIGHUP', () => console.log('hung up'));
  const timer = setInterval(() => {}, 1_000);
  abandoning.signal.addEventListener('abort', () => console.log('abandoned'));
  signal.addEventListener('abort', () => {
    console.log('stopped');
    if (value !== 'stay') clearInterval(timer);
  });
  if (process.env.PROBE_IS_UP) writeFileSync(process.env.PROBE_IS_UP, '');
  console.log('ready ' + process.pid + ' ' + process.version);
}
`;

/** A parent that stands still until the program it started is up. */
const slowSpawn = `
const program = require('child_process');
const { existsSync } = require('fs');
const { spawn } = program;
program.spawn = (...args) => {
  const child = spawn(...args);
  const still = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(process.env.PROBE_IS_UP)) Atomics.wait(still, 0, 0, 1);
  return child;
};
require('module').syncBuiltinESMExports();
`;

suite('the launcher', () => {
  const folders: string[] = [];
  after(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

  /** A package with the real launcher and the probe. */
  function probeLauncher(options: { modules: boolean }): string {
    const folder = mkdtempSync(join(tmpdir(), 'svc-launcher-'));
    folders.push(folder);
    mkdirSync(join(folder, 'dist'));
    cpSync(dirname(launcher), join(folder, 'bin'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'dist', 'main.js'), probe);
    if (options.modules) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    return join(folder, 'bin', 'svc.js');
  }

  function runProbe(node: string, ...args: string[]): Run {
    return runProgram(node, [probeLauncher({ modules: true }), ...args], {
      env: { SVC_FROM_SOURCES: undefined },
    });
  }

  async function waiting(run: Run): Promise<number> {
    const [, pid] = await run.until(/ready (\d+) v(?:2[4-9]|[3-9]\d)/);
    return Number(pid);
  }

  for (const [name, node] of [
    ['a new Node', process.execPath],
    ['an old Node', old],
  ] as const) {
    const options = node === null ? { skip } : {};
    const program = node ?? '';

    test(`under ${name} the exit code passes through`, options, async () => {
      for (const code of [0, 1, 2, 78]) {
        const run = runProbe(program, 'exit', String(code));
        assert.deepEqual(await run.ended, { code, signal: null }, run.err());
      }
    });

    test(`under ${name} death by a signal passes through`, options, async () => {
      const run = runProbe(program, 'die', 'SIGKILL');
      assert.deepEqual(await run.ended, { code: null, signal: 'SIGKILL' });
    });

    test(`under ${name} a signal to the launcher stops the program once`, options, async () => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
        const run = runProbe(program, 'wait');
        await waiting(run);
        run.child.kill(signal);
        assert.deepEqual(await run.ended, { code: 0, signal: null });
        assert.equal(run.out().match(/stopped/g)?.length, 1);
      }
    });

    test(
      `under ${name} a signal is passed on however long the launcher stands still`,
      options,
      async () => {
        const file = probeLauncher({ modules: true });
        const slow = join(dirname(file), 'slow.cjs');
        writeFileSync(slow, slowSpawn);
        const up = join(dirname(file), 'up');
        const env = { SVC_FROM_SOURCES: undefined, PROBE_IS_UP: up };
        const NODE_OPTIONS = `--require="${slow}"`;
        const run = runProgram(program, [file, 'wait'], { env: { ...env, NODE_OPTIONS } });
        await waiting(run);
        run.child.kill('SIGTERM');
        assert.deepEqual(await run.ended, { code: 0, signal: null });
      },
    );

    test(
      `under ${name} hang-ups stop no program that wants to be told of them`,
      options,
      async () => {
        const run = runProbe(program, 'wait', 'hear');
        await waiting(run);
        run.child.kill('SIGHUP');
        await run.until(/heard/);
        run.child.kill('SIGHUP');
        await run.until(/heard\s+heard/);
        run.child.kill('SIGTERM');
        assert.deepEqual(await run.ended, { code: 0, signal: null });
        assert.equal(
          run
            .out()
            .match(/heard|stopped/g)
            ?.join(),
          'heard,heard,stopped',
        );
      },
    );

    test(`under ${name} no signal opens a debugger`, options, async () => {
      const run = runProbe(program, 'wait', 'hear');
      const pid = await waiting(run);
      for (const one of new Set([pid, run.child.pid!])) process.kill(one, 'SIGUSR1');
      // Its answer to the second signal shows that Node has noticed the first.
      run.child.kill('SIGHUP');
      await run.until(/heard/);
      run.child.kill('SIGTERM');
      assert.deepEqual(await run.ended, { code: 0, signal: null });
      assert.doesNotMatch(run.err(), /debugger|inspector/i);
    });

    test(`under ${name} the second signal ends a program that stays`, options, async () => {
      const run = runProbe(program, 'wait', 'stay');
      await waiting(run);
      run.child.kill('SIGTERM');
      await run.until(/stopped/);
      run.child.kill('SIGTERM');
      assert.deepEqual(await run.ended, { code: 128 + constants.signals.SIGTERM, signal: null });
    });
  }

  test('a terminal that closes twice does not end what is stopping', async () => {
    const run = runProbe(process.execPath, 'wait', 'stay');
    await waiting(run);
    run.child.kill('SIGHUP');
    await run.until(/stopped\s+hung up/);
    run.child.kill('SIGHUP');
    await run.until(/hung up\s+hung up/);
    run.child.kill('SIGTERM');
    assert.deepEqual(await run.ended, { code: 128 + constants.signals.SIGTERM, signal: null });
  });

  test('a signal that reaches launcher and program counts once', { skip }, async () => {
    const run = runProbe(old ?? '', 'wait', 'stay');
    const pid = await waiting(run);
    assert.notEqual(pid, run.child.pid);
    process.kill(run.child.pid!, 'SIGINT');
    process.kill(pid, 'SIGINT');
    await run.until(/stopped/);
    // If it counted twice, the program would end before this answer.
    process.kill(run.child.pid!, 'SIGTERM');
    assert.deepEqual(await run.ended, { code: 128 + constants.signals.SIGTERM, signal: null });
  });

  test('no hang-up is missed, by whichever way the ones before it came', { skip }, async () => {
    const run = runProbe(old ?? '', 'wait', 'hear');
    const pid = await waiting(run);
    for (const [index, to] of [pid, pid, pid, run.child.pid!, pid, run.child.pid!].entries()) {
      process.kill(to, 'SIGHUP');
      await run.until(new RegExp(`^(?:heard\\s+){${index + 1}}$`, 'm'));
    }
    run.child.kill('SIGTERM');
    assert.deepEqual(await run.ended, { code: 0, signal: null });
  });

  test(
    'a terminal that closes stops the program, and the launcher ends well',
    { skip },
    async () => {
      const { NODE_TEST_CONTEXT: _, SVC_FROM_SOURCES: _sources, ...env } = process.env;
      const args = [probeLauncher({ modules: true }), 'wait', 'hear'];
      const terminal = spawn(old ?? '', args, { cols: 200, env });
      const ended = new Promise((resolve) => terminal.onExit(resolve));
      const ready = new Promise<string>((resolve) => {
        let seen = '';
        terminal.onData((text) => {
          seen += text;
          const found = /ready (\d+)\s/.exec(seen);
          if (found !== null) resolve(found[1]!);
        });
      });
      const pid = Number(await ready);
      (terminal as typeof terminal & { destroy(): void }).destroy();
      await gone(pid);
      assert.deepEqual(await ended, { exitCode: 0, signal: 0 });
    },
  );

  test('a launcher that is killed leaves no program behind', { skip }, async () => {
    const run = runProbe(old ?? '', 'wait');
    const pid = await waiting(run);
    assert.deepEqual(childrenOf(run.child.pid!), [pid]);
    run.child.kill('SIGKILL');
    await gone(pid);
    await run.ended;
    assert.match(run.out(), /stopped/);
  });

  test('a launcher that is killed leaves none behind that has work in hand', { skip }, async () => {
    const run = runProbe(old ?? '', 'wait', 'stay');
    const pid = await waiting(run);
    run.child.kill('SIGKILL');
    await gone(pid);
    await run.ended;
    assert.match(run.out(), /stopped\s+abandoned/);
  });

  test('without a bundled Node an old one gets one sentence and 78', { skip }, async () => {
    const run = runProgram(old ?? '', [probeLauncher({ modules: false }), 'exit', '0']);
    assert.deepEqual(await run.ended, { code: 78, signal: null });
    assert.match(run.err(), /^svc needs Node 24 or newer; this is v\d+\.[^\n]*\n$/);
  });

  test('a checkout runs dist/ until its sources change', async () => {
    const launched = probeLauncher({ modules: false });
    const folder = join(launched, '..', '..');
    const built = join(folder, 'dist', 'main.js');
    const room = join(folder, 'src', 'room');
    const file = join(room, 'file.ts');
    mkdirSync(room, { recursive: true });
    writeFileSync(built, "export const main = () => console.log('built');");
    writeFileSync(
      join(folder, 'src', 'main.ts'),
      "export const main = () => console.log('source');",
    );
    writeFileSync(file, '');
    const apps = join(folder, 'apps');
    const page = join(apps, 'page.ts');
    mkdirSync(apps);
    writeFileSync(page, '');
    const date = (path: string, minute: number): void => utimesSync(path, 0, minute * 60);
    const ran = async (): Promise<string> => {
      const run = runProgram(process.execPath, [launched], {
        env: { SVC_FROM_SOURCES: undefined },
      });
      await run.ended;
      return run.out().trim();
    };
    const sources = join(folder, 'src');
    for (const path of [join(sources, 'main.ts'), file, room, sources, page, apps]) date(path, 1);
    date(built, 2);
    assert.equal(await ran(), 'built');
    date(file, 3);
    assert.equal(await ran(), 'source', 'a file was edited');
    date(file, 1);
    assert.equal(await ran(), 'built');
    date(page, 3);
    assert.equal(await ran(), 'source', 'a file of an application was edited');
    date(page, 1);
    assert.equal(await ran(), 'built');
    rmSync(file);
    assert.equal(await ran(), 'source', 'a file was removed');
  });

  test('what runs first is written in JavaScript that every Node since 12 reads', () => {
    for (const file of ['bin/svc.js', 'bin/bundled-node.js', 'scripts/node.js']) {
      const text = readFileSync(join(root, file), 'utf8');
      assert.doesNotMatch(
        text,
        /\?\.|\?\?|^await |node:|#\w+ =|\|\|=|\.at\(|hasOwn|replaceAll/m,
        file,
      );
    }
  });
});
