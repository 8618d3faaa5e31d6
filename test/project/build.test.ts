/** The result of `npm run build` behaves like the sources: the same commands, the same answers. */
import assert from 'node:assert/strict';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { freePort } from '../support/program.ts';
import { root, runProgram, type Run } from '../support/run-svc.ts';
import { writeTelegramConfig } from '../telegram/program.ts';

/** Whether `npm run build` has run, as the gate does before the tests, with no edits since. */
function isBuilt(): boolean {
  const builtAt = statSync(join(root, 'dist', 'main.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const files = globSync('{src/**/*.{ts,sql},apps/**/*.ts,scripts/*}', { cwd: root });
  return files.every(
    (file) => file.endsWith('.test.ts') || statSync(join(root, file)).mtimeMs < builtAt,
  );
}

async function build(folder: string): Promise<void> {
  const env = { SVC_BUILD_FOLDER: folder };
  const made = runProgram(process.execPath, [join(root, 'scripts', 'build.ts')], { env });
  assert.equal((await made.ended).code, 0, made.err());
}

suite('the built program', () => {
  /** A folder with only the published files: no sources, no node_modules. */
  let place = '';
  let dist = '';
  before(async () => {
    place = mkdtempSync(join(tmpdir(), 'svc-built-'));
    dist = join(place, 'dist');
    if (isBuilt()) cpSync(join(root, 'dist'), dist, { recursive: true });
    else await build(dist);
    cpSync(join(root, 'bin'), join(place, 'bin'), { recursive: true });
    cpSync(join(root, 'package.json'), join(place, 'package.json'));
  });
  after(() => rmSync(place, { recursive: true, force: true }));

  function svc(...args: string[]): Run {
    return svcWith({}, ...args);
  }

  function svcWith(more: Record<string, string>, ...args: string[]): Run {
    const env = { SVC_FROM_SOURCES: undefined, TMPDIR: place, ...more };
    return runProgram(process.execPath, [join(place, 'bin', 'svc.js'), ...args], {
      env,
      cwd: place,
    });
  }

  test('the built program finds its version and its schema', async () => {
    const version = svc('version');
    assert.equal((await version.ended).code, 0, version.err());
    assert.match(version.out(), /^svc \d/);
    const schema = svc('config', 'schema');
    assert.equal((await schema.ended).code, 0, schema.err());
    assert.equal(typeof JSON.parse(schema.out()), 'object');
  });

  test('the built program runs the demo with its storage thread', async () => {
    const demo = svc('demo');
    const [, curl] = await demo.until(/^ {2}(curl .*)$/m);
    const [, url] = /(http:\S+)/.exec(curl!)!;
    const [, authorization] = /Authorization: ([^']+)/.exec(curl!)!;
    const answer = await fetch(url!, {
      method: 'POST',
      headers: { authorization: authorization!, 'content-type': 'application/json' },
      body: JSON.stringify({ sender_id: 'built', text: 'Hello' }),
    });
    assert.equal(answer.status, 200);
    await demo.until(/reply to built: Hello!/);
    demo.child.kill('SIGTERM');
    assert.equal((await demo.ended).code, 0, demo.err());
  });

  test('what a service loads is held in one byte a character', () => {
    const files = globSync('{main,base-*,records-*,service-*,storage-*}.js', { cwd: dist });
    assert.ok(files.length >= 5, files.join());
    for (const file of files) {
      const [wide] = /[^\0-\xff].*/.exec(readFileSync(join(dist, file), 'utf8')) ?? [null];
      assert.equal(wide, null, file);
    }
  });

  test('everything but Node’s own modules is inside, and can be read', () => {
    const files = globSync('*.js', { cwd: dist });
    for (const file of ['main.js', 'writer-thread.js', 'reader-thread.js']) {
      assert.ok(files.includes(file), files.join());
    }
    const main = readFileSync(join(dist, 'main.js'), 'utf8');
    assert.ok(main.split('\n').length > 100, 'not minified');
    for (const file of files) {
      const text = readFileSync(join(dist, file), 'utf8');
      const outside = [...text.matchAll(/^import .* from "([^."][^"]*)"/gm)]
        .map((match) => match[1]!)
        .filter((name) => !name.startsWith('node:'));
      assert.deepEqual(outside, [], file);
    }
  });

  test('the built program brings what the Telegram channel loads', async () => {
    await using telegram = await startFakeTelegram({ secondMs: 20 });
    await using model = await startFakeOllama({ answer: '**four**' });
    const where = { telegramUrl: telegram.url, modelUrl: model.url, adminPort: await freePort() };
    const file = await writeTelegramConfig(place, where);
    const serve = svcWith({ TELEGRAM_TOKEN: telegram.token }, 'serve', '--config', file);
    telegram.say(telegram.privateChat(telegram.person('Ann')), 'What is two and two?');
    const [answer] = await telegram.waitForSent(1);
    assert.equal(answer?.text, 'four');
    serve.child.kill('SIGTERM');
    assert.equal((await serve.ended).code, 0, serve.err());
    const token = { TELEGRAM_TOKEN: telegram.token };
    const preflight = svcWith(token, 'config', 'check', '--preflight', file);
    await preflight.ended;
    assert.match(preflight.out(), /knows the token in TELEGRAM_TOKEN/);
    assert.equal(preflight.err(), '');
  });
});
