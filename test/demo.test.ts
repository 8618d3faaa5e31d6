/** `svc demo`: from nothing to a reply, and what it leaves behind. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from './program.ts';
import { childrenOf, gone, oldNode, runProgram, runSvc, type Run } from './run-svc.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-demos-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Temporary files of the demos stay in this test's own folder. */
const env = { TMPDIR: folder };

async function ready(run: Run): Promise<{ curl: string; storage: string }> {
  await run.until(/Ctrl-C ends it\.\n/);
  const [, storage] = await run.until(/storage +(\S+)/);
  const [, curl] = await run.until(/^ {2}(curl .*)$/m);
  return { curl: curl!, storage: storage! };
}

function descendantsOf(pid: number): readonly number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** The line as it was printed, in a shell. */
async function tryLine(curl: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', curl]);
  return stdout;
}

test('the demo answers its own curl line, remembers, and ends clean with Ctrl-C', async () => {
  const run = runSvc(['demo'], { env });
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
  const first = runSvc(['demo'], { env });
  await ready(first);
  const second = runSvc(['demo'], { env });
  const { curl } = await ready(second);
  await tryLine(curl);
  await second.until(/reply to ada/);
  assert.doesNotMatch(first.out(), /reply to ada/);
  for (const run of [first, second]) {
    run.child.kill('SIGTERM');
    assert.equal((await run.ended).code, 0);
  }
});

test('demos that start at the same moment find places beside each other', async () => {
  const runs = [1, 2, 3, 4].map(() => runSvc(['demo'], { env }));
  const lines = await Promise.all(runs.map(ready));
  const ports = lines.map(({ curl }) => /:(\d+)\/webhook/.exec(curl)![1]!);
  assert.equal(new Set(ports).size, runs.length, ports.join());
  for (const run of runs) run.child.kill('SIGTERM');
  for (const run of runs) assert.equal((await run.ended).code, 0, run.err());
});

const old = oldNode();
const skip = old === null ? 'no Node older than 24 is on the PATH of this machine' : false;

test('killed, it leaves no process and can be started again at once', { skip }, async () => {
  const port = String(await freePort());
  const db = join(folder, 'kept.db');
  const args = ['demo', '--port', port, '--db', db];
  const killed = runSvc(args, { node: old ?? '', env });
  const { curl } = await ready(killed);
  await tryLine(curl);
  await killed.until(/reply to ada/);
  const children = childrenOf(killed.child.pid!);
  killed.child.kill('SIGKILL');
  await Promise.all(children.map((pid) => gone(pid)));
  const again = runSvc(args, { node: old ?? '', env });
  const { curl: next } = await ready(again);
  assert.match(next, new RegExp(`:${port}/webhook`));
  await tryLine(next.replace('"Hello"', '"back"'));
  await again.until(/“back”.*one earlier message/);
  again.child.kill('SIGTERM');
  assert.equal((await again.ended).code, 0);
  assert.ok(existsSync(db));
});

for (const [program, args] of [
  ['npm', ['start']],
  ['npx', ['svc', 'demo']],
] as const) {
  test(`it ends when the ${program} that started it is killed`, async () => {
    const started = runProgram(program, args, { env });
    await ready(started);
    const below = descendantsOf(started.child.pid!);
    assert.ok(below.length > 0);
    started.child.kill('SIGKILL');
    await Promise.all(below.map((pid) => gone(pid)));
  });
}

test('folders of demos that were killed are removed by the next one', async () => {
  const killed = runSvc(['demo'], { env });
  const { storage } = await ready(killed);
  killed.child.kill('SIGKILL');
  await killed.ended;
  assert.ok(existsSync(storage));
  const next = runSvc(['demo'], { env });
  await ready(next);
  assert.equal(existsSync(storage), false);
  next.child.kill('SIGTERM');
  await next.ended;
});

test('a wished port that is taken is refused with one sentence', async () => {
  const first = runSvc(['demo'], { env });
  const { curl } = await ready(first);
  const port = /:(\d+)\/webhook/.exec(curl)![1]!;
  const second = runSvc(['demo', '--port', port], { env });
  assert.equal((await second.ended).code, 78);
  assert.match(second.err(), new RegExp(`port ${port} is taken here`));
  const wrong = runSvc(['demo', '--port', 'x'], { env });
  assert.equal((await wrong.ended).code, 2);
  first.child.kill('SIGTERM');
  await first.ended;
});
