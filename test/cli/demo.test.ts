/** `svc demo`: from nothing to a reply, and its leftovers. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { runCommand, startCommand, type CommandRun } from '../support/in-process.ts';
import { freePort, scratch } from '../support/program.ts';
import { childrenOf, gone, oldNode, runProgram, runSvc, type Run } from '../support/run-svc.ts';

/** Temporary files of the demos stay in the test's own folder. */
const below = ({ path }: { readonly path: string }) => ({ env: { TMPDIR: path } });

async function ready(run: Run | CommandRun): Promise<{ curl: string; storage: string }> {
  await run.until(/Ctrl-C ends it\.\n/);
  const [, storage] = await run.until(/storage +(.+?)(?: \(|\n)/);
  const [, curl] = await run.until(/^ {2}(curl .*)$/m);
  return { curl: curl!, storage: storage! };
}

function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Runs the printed line in a shell, whatever proxy this machine has. */
async function tryLine(curl: string): Promise<string> {
  const env = { ...process.env, no_proxy: '*' };
  const { stdout } = await promisify(execFile)('sh', ['-c', curl], { env });
  return stdout;
}

test('the demo answers its own curl line, remembers, and ends clean with Ctrl-C', async () => {
  await using folder = await scratch();
  const run = runSvc(['demo'], below(folder));
  const { curl, storage } = await ready(run);
  assert.match(await tryLine(curl), /"status":"accepted"/);
  await run.until(/reply to ada: Hello! I read: “Hello”/);
  await tryLine(curl.replace('"Hello"', '"second"'));
  await run.until(/reply to ada: I read: “second”.*one earlier message/);
  assert.ok(existsSync(storage));
  run.child.kill('SIGINT');
  assert.deepEqual(await run.ended, { code: 0, signal: null }, run.err());
  assert.equal(existsSync(storage), false);
});

test('two demos at once find places beside each other', async () => {
  await using folder = await scratch();
  await using first = startCommand(['demo'], below(folder));
  await ready(first);
  await using second = startCommand(['demo'], below(folder));
  const { curl } = await ready(second);
  await tryLine(curl);
  await second.until(/reply to ada/);
  assert.doesNotMatch(first.out(), /reply to ada/);
  for (const run of [first, second]) assert.equal(await run.stop(), 0);
});

test('demos that start at the same moment find places beside each other', async () => {
  await using folder = await scratch();
  await using own = new AsyncDisposableStack();
  const runs = [1, 2, 3, 4].map(() => own.use(startCommand(['demo'], below(folder))));
  const lines = await Promise.all(runs.map(ready));
  const ports = lines.map(({ curl }) => /:(\d+)\/webhook/.exec(curl)![1]!);
  assert.equal(new Set(ports).size, runs.length, ports.join());
  const codes = await Promise.all(runs.map((run) => run.stop()));
  assert.deepEqual(codes, [0, 0, 0, 0], runs.map((run) => run.err()).join(''));
});

const old = oldNode();
const skip = old === null ? 'no Node older than 24 is on the PATH of this machine' : false;

test('killed, it leaves no process and can be started again at once', { skip }, async () => {
  await using folder = await scratch();
  const port = String(await freePort());
  const db = join(folder.path, 'kept.db');
  const args = ['demo', '--port', port, '--db', db];
  const killed = runSvc(args, { node: old ?? '', ...below(folder) });
  const { curl } = await ready(killed);
  await tryLine(curl);
  await killed.until(/reply to ada/);
  const children = childrenOf(killed.child.pid!);
  killed.child.kill('SIGKILL');
  await Promise.all(children.map((pid) => gone(pid)));
  await using again = startCommand(args, below(folder));
  const { curl: next } = await ready(again);
  assert.match(next, new RegExp(`:${port}/webhook`));
  await tryLine(next.replace('"Hello"', '"back"'));
  await again.until(/“back”.*one earlier message/);
  assert.equal(await again.stop(), 0);
  assert.ok(existsSync(db));
});

for (const [program, args] of [
  ['npm', ['start']],
  ['npx', ['--offline', '--call', './svc demo']],
] as const) {
  test(`it ends when the ${program} that started it is killed`, async () => {
    await using folder = await scratch();
    const started = runProgram(program, args, below(folder));
    await ready(started);
    const descendants = descendantsOf(started.child.pid!);
    assert.ok(descendants.length > 0);
    started.child.kill('SIGKILL');
    await Promise.all(descendants.map((pid) => gone(pid)));
  });
}

test('folders of demos that were killed are removed by the next one', async () => {
  await using folder = await scratch();
  const killed = runSvc(['demo'], below(folder));
  const { storage } = await ready(killed);
  killed.child.kill('SIGKILL');
  await killed.ended;
  assert.ok(existsSync(storage));
  await using next = startCommand(['demo'], below(folder));
  await ready(next);
  assert.equal(existsSync(storage), false);
});

test('a wished port that is taken is refused with one sentence', async () => {
  await using folder = await scratch();
  await using first = startCommand(['demo'], below(folder));
  const { curl } = await ready(first);
  const port = /:(\d+)\/webhook/.exec(curl)![1]!;
  const second = await runCommand(['demo', '--port', port], below(folder));
  assert.equal(second.code, 78);
  assert.match(second.err, new RegExp(`port ${port} is taken here`));
  const wrong = await runCommand(['demo', '--port', 'x']);
  assert.equal(wrong.code, 2);
});

test('a model that does not answer is told before the demo says how to try it', async () => {
  await using folder = await scratch();
  await using run = startCommand(['demo', '--model', 'no-such-model'], below(folder));
  await ready(run);
  // A runtime that happens to run on this machine has no model of that name.
  const told = /model is not ready,.*\n\n {2}! .*`ollama (?:serve|pull no-such-model)`/;
  assert.match(run.out(), told);
  assert.equal(await run.stop(), 0);
});
