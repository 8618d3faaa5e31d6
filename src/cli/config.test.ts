import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, before, suite, test } from 'node:test';
import { createSecretLookup } from '../app/secret-lookup.ts';
import type { Command, Io } from './cli.ts';
import { createConfigCheck } from './frame/config-check.ts';
import { configSchema } from './config-schema.ts';
import type { PreflightLine } from '../app/preflight/lines.ts';

suite('svc config', () => {
  let cwd = '';
  before(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'svc-check-'));
  });
  after(() => rm(cwd, { recursive: true }));

  const good = JSON.stringify({
    channels: [{ type: 'webhook', token_env: 'HOOK', webhook: { outbound_url: 'http://a.test' } }],
    brains: [
      {
        name: 'main',
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [{ provider: 'local_runtime', model_id: 'm', locality: 'local' }],
      },
    ],
    routes: [{ channel: 'webhook', brain: 'main' }],
  });

  const textOf = (stream: PassThrough): string => String(stream.read() ?? '');

  async function run(
    command: Command,
    args: readonly string[],
    { env = {}, isTTY = false }: { env?: Io['env']; isTTY?: boolean } = {},
  ): Promise<{ code: number; out: string; err: string }> {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const io: Io = {
      stdin,
      stdout: Object.assign(stdout, { isTTY }),
      stderr,
      env,
      cwd,
      secrets: createSecretLookup({ env, cwd, stderr }),
      stop: new AbortController().signal,
      abandon: new AbortController().signal,
      onHangUp: () => {},
    };
    const code = await command.run(args, io);
    return { code, out: textOf(stdout), err: textOf(stderr) };
  }

  async function write(text: string, name = 'svc.json'): Promise<void> {
    await writeFile(join(cwd, name), text);
    await chmod(join(cwd, name), 0o600);
  }

  const check = createConfigCheck(
    () => Promise.reject(new Error('a preflight ran')),
    async () => [],
  );

  test('svc config check says that svc.json is valid', async () => {
    await write(good);
    assert.deepEqual(await run(check, []), { code: 0, out: '✓ svc.json is valid\n', err: '' });
  });

  test('a problem is shown with its place and its remedy, and the exit code is 78', async () => {
    await write(good.replace('"private"', '"privat"').replace('"a.test"', '"b"'), 'bad.json');
    const { code, out } = await run(check, ['bad.json']);
    assert.equal(code, 78);
    assert.match(
      out,
      /^✗ bad\.json:1:\d+ brains\[0\]\.sensitivity\n {2}"privat" is none of .*\n {2}Did/,
    );
    assert.match(out, /\n✗ bad\.json is not valid: 1 problem\n$/);
  });

  test('a warning is shown and changes no exit code', async () => {
    await write(good.replace('"http://a.test"', '"http://a.test","bind":":8090"'));
    const { code, out } = await run(check, []);
    assert.equal(code, 0);
    assert.match(out, /^! svc\.json:1:\d+ channels\[0\]\.webhook\.bind\n/);
    assert.match(out, /\n✓ svc\.json is valid, 1 warning\n$/);
  });

  test('colour is for a terminal, and NO_COLOR switches it off', async () => {
    await write(good);
    const coloured = await run(check, [], { isTTY: true });
    assert.ok(coloured.out.startsWith('\u001B[32m✓'));
    const plain = await run(check, [], { isTTY: true, env: { NO_COLOR: '1' } });
    assert.match(plain.out, /^✓/);
  });

  test('--json prints exactly valid and problems', async () => {
    await write(good.replace('"private"', '1'));
    const { code, out, err } = await run(check, ['--json']);
    const result = JSON.parse(out) as { valid: boolean; problems: readonly object[] };
    assert.deepEqual([code, err, Object.keys(result)], [78, '', ['valid', 'problems']]);
    assert.equal(result.valid, false);
    assert.deepEqual(
      Object.keys(result.problems[0]!).sort(),
      'code column line message path remedy severity'.split(' '),
    );
  });

  test('a missing file is a configuration problem', async () => {
    const { code, out } = await run(check, ['none.json']);
    assert.equal(code, 78);
    assert.match(out, /^✗ none\.json\n {2}there is no file .*none\.json\n/);
  });

  test('wrong usage exits with 2 and says so on stderr', async () => {
    for (const args of [['--preflihgt'], ['a', 'b']]) {
      const { code, out, err } = await run(check, args);
      assert.deepEqual([code, out], [2, ''], args.join(' '));
      assert.match(err, /^svc config check: .*\nSee "svc help config check"\.\n$/);
    }
    assert.match((await run(check, ['--preflihgt'])).err, /Did you mean --preflight\?/);
  });

  const line = (mark: PreflightLine['mark'], secret = false): PreflightLine => {
    return {
      mark,
      subject: 'model m',
      message: 'was looked at',
      remedy: 'Look.',
      secret,
      refuses: secret,
    };
  };
  const withLines = (...lines: readonly PreflightLine[]): Command =>
    createConfigCheck(
      () => Promise.resolve(lines),
      async () => [],
    );

  test('a preflight exits with 78 for a missing secret, with 1 for another failure', async () => {
    await write(good);
    const codeOf = async (...lines: readonly PreflightLine[]): Promise<number> =>
      (await run(withLines(...lines), ['--preflight'])).code;
    assert.equal(await codeOf(line('ok'), line('warning')), 0);
    assert.equal(await codeOf(line('failed')), 1);
    assert.equal(await codeOf(line('failed'), line('failed', true)), 78);
    const { out } = await run(withLines(line('failed')), ['--preflight']);
    assert.match(out, /✗ model m: was looked at\n {2}Look\.\n/);
    assert.match(out, /\n✗ svc\.json is valid, but 1 preflight check failed\n$/);
    const json = await run(withLines(line('ok')), ['--preflight', '--json']);
    assert.deepEqual(Object.keys(JSON.parse(json.out) as object), [
      'valid',
      'problems',
      'preflight',
    ]);
  });

  test('a preflight is not run for a file with problems', async () => {
    await write('{}');
    assert.equal((await run(check, ['--preflight'])).code, 78);
  });

  test('svc config schema prints a JSON Schema', async () => {
    const { code, out } = await run(configSchema, []);
    assert.equal(code, 0);
    assert.match(out, /2020-12/);
    assert.equal((JSON.parse(out) as { type: string }).type, 'object');
    assert.equal((await run(configSchema, ['x'])).code, 2);
  });
});
