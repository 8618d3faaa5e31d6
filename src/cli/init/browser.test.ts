import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { fakeSession } from '../../../test/fake/setup-session.ts';
import { until } from '../../../test/support/waiting.ts';
import { showInBrowser, type FrontendTimes } from './browser.ts';

/** Longer than any test takes. */
const long: FrontendTimes = { pageMs: 600_000, codeMs: 600_000, lastPageMs: 600_000 };

type Options = { opens?: 'well' | 'not' | 'nothing'; times?: Partial<FrontendTimes> };

/**
 * The browser frontend, with an opener that records its argument and the arguments of all
 * processes.
 */
async function start({ opens = 'nothing', times = {} }: Options = {}) {
  const folder = await scratch();
  const seen = join(folder.path, 'seen');
  const opener = `#!/bin/sh
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' > "${seen}.cmdlines"
printf '%s' "$1" > "${seen}.new" && mv "${seen}.new" "${seen}"
exit ${opens === 'not' ? 3 : 0}
`;
  await writeFile(join(folder.path, 'xdg-open'), opener);
  await chmod(join(folder.path, 'xdg-open'), 0o700);
  const session = fakeSession();
  const stop = new AbortController();
  const stdin = new PassThrough();
  let said = '';
  const stderr = new Writable({
    write(part, _encoding, done) {
      said += String(part);
      done();
    },
  });
  const display = opens === 'nothing' ? {} : { DISPLAY: ':99' };
  const env = { PATH: `${folder.path}:${process.env['PATH']}`, TMPDIR: folder.path, ...display };
  const io = { stdin, stderr, env, stop: stop.signal, platform: 'linux' } as const;
  const ended = showInBrowser(session, io, { ...long, ...times });
  return {
    session,
    stdin,
    ended,
    seen,
    stop: () => stop.abort(),
    said: () => said,
    /** The files that the frontend has now. */
    files: () => readdirSync(folder.path).filter((name) => name.startsWith('svc-')),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
      await folder[Symbol.asyncDispose]();
    },
  };
}

const linkIn = (text: string): URL | null => {
  const found = [...text.matchAll(/http:\/\/127\.0\.0\.1:\d+\/setup#[\w-]{22}/g)].at(-1)?.[0];
  return found === undefined ? null : new URL(found);
};

async function trade(link: URL): Promise<{ status: number; token: string }> {
  const answer = await fetch(new URL('/api/v1/sign-in', link), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: link.hash.slice(1) }),
  });
  const { token = '' } = (await answer.json()) as { token?: string };
  return { status: answer.status, token };
}

async function stateOf(link: URL, token: string): Promise<Response> {
  return fetch(new URL('/api/v1/setup', link), { headers: { authorization: `Bearer ${token}` } });
}

test('the browser gets a file that this user alone reads; nobody sees the code', async () => {
  await using frontend = await start({ opens: 'well' });
  const path = await until('what the opener was given', () =>
    existsSync(frontend.seen) ? readFileSync(frontend.seen, 'utf8') : null,
  );
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(dirname(path)).mode & 0o777, 0o700);
  const link = linkIn(readFileSync(path, 'utf8'));
  assert.ok(link !== null);
  const cmdlines = readFileSync(`${frontend.seen}.cmdlines`, 'utf8');
  assert.ok(cmdlines.includes(path), 'the opener itself was seen');
  assert.ok(!cmdlines.includes(link.hash.slice(1)));
  await until('a word of it', () => frontend.said().includes('A page opens in your browser'));
  assert.equal(linkIn(frontend.said()), null, 'nor is it on the terminal');
  assert.equal((await trade(link)).status, 200);
  assert.deepEqual(frontend.files(), [], 'the file is gone once it was used');
  assert.match(frontend.said(), /The page is there/);
});

for (const opens of ['nothing', 'not'] as const) {
  test(`where a browser cannot be opened (${opens}), the terminal shows the link`, async () => {
    await using frontend = await start({ opens });
    const link = await until('the link', () => linkIn(frontend.said()));
    assert.deepEqual(frontend.files(), []);
    assert.equal((await trade(link)).status, 200);
  });
}

test('where no page comes, the link is told as well', async () => {
  await using frontend = await start({ opens: 'well', times: { pageMs: 1 } });
  const link = await until('the link', () => linkIn(frontend.said()));
  assert.match(frontend.said(), /If no page came/);
  assert.equal((await trade(link)).status, 200);
});

test('a second use of a link is told, and Enter opens another', async () => {
  await using frontend = await start();
  const link = await until('the link', () => linkIn(frontend.said()));
  const { token } = await trade(link);
  assert.equal((await trade(link)).status, 403);
  assert.match(frontend.said(), /used a second time, so somebody else may have it/);
  const signedOut = await stateOf(link, token);
  assert.equal(signedOut.status, 401);
  await signedOut.text();
  frontend.stdin.write('\n');
  const next = await until('another link', () => {
    const newest = linkIn(frontend.said());
    return newest?.hash === link.hash ? null : newest;
  });
  assert.equal((await trade(next)).status, 200);
});

test('it ends once the last page was shown, and what was begun goes on', async () => {
  await using frontend = await start();
  const link = await until('the link', () => linkIn(frontend.said()));
  const { token } = await trade(link);
  frontend.session.show({ step: 'last', title: 'Running', choices: [] });
  await (await stateOf(link, token)).text();
  await until('the end of the face', () => frontend.stdin.listenerCount('data') === 0);
  await assert.rejects(async () => {
    for (;;) await (await stateOf(link, token)).text();
  }, 'its listener closes');
  frontend.session.end({ kind: 'served' });
  assert.deepEqual(await frontend.ended, { kind: 'served' });
});

test('Ctrl-C ends it at once, and leaves no file behind', async () => {
  const frontend = await start({ opens: 'well' });
  await until('a word of it', () => frontend.said().includes('A page opens in your browser'));
  assert.equal(frontend.files().length, 1);
  frontend.stop();
  assert.deepEqual(await frontend.ended, { kind: 'left' });
  assert.deepEqual(frontend.files(), []);
  await frontend[Symbol.asyncDispose]();
});

test('where nobody comes, and nobody can ask for another link, it ends', async () => {
  const frontend = await start({ times: { codeMs: 200 } });
  frontend.stdin.end();
  await once(frontend.stdin, 'end');
  assert.deepEqual(await frontend.ended, { kind: 'left' });
  assert.match(frontend.said(), /No page came within a minute/);
  await frontend[Symbol.asyncDispose]();
});

test('a way that a bug has ended, on whatever page, is over', async () => {
  const frontend = await start({ times: { lastPageMs: 1 } });
  frontend.session.show({ step: 'write', title: 'The start', choices: [] });
  frontend.session.end({ kind: 'failed', message: 'Something went wrong in svc itself.' });
  assert.equal((await frontend.ended).kind, 'failed');
  await frontend[Symbol.asyncDispose]();
});
