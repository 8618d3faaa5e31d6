import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import type { SignedIn } from '../../desktop.ts';
import { answerScript, bridgeScript, parsePageQuestion } from './view.ts';

const origin = 'http://127.0.0.1:4001';

/** A fake page with everything that the script needs. */
function open({ isFramed = false } = {}) {
  const posted: string[] = [];
  const window: Record<string, unknown> = {
    ipc: { postMessage: (text: string) => posted.push(text) },
  };
  window['top'] = isFramed ? {} : window;
  const context = createContext(Object.assign(window, { window, location: { origin } }));
  runInContext(bridgeScript, context);
  return { posted, run: (script: string): unknown => runInContext(script, context) };
}

test('a page asks who it is, and gets the answer of its own question', async () => {
  const page = open();
  const asked = [1, 2].map(() => page.run('svcShell.signIn()') as Promise<SignedIn>);
  const [first, second] = page.posted.map((text) => parsePageQuestion(text)!);
  page.run(answerScript(origin, second!.id, { token: 'b', page: null }));
  page.run(answerScript(origin, first!.id, { token: null, page: `${origin}/app` }));
  const answers = await Promise.all(asked);
  assert.deepEqual(
    answers.map((one) => ({ ...one })),
    [
      { token: null, page: `${origin}/app` },
      { token: 'b', page: null },
    ],
  );
});

test('a page of another origin that came in its place gets nothing', () => {
  const page = open();
  page.run('svcShell.signIn().then((it) => { globalThis.got = it; })');
  const { id } = parsePageQuestion(page.posted[0]!)!;
  page.run(answerScript('http://127.0.0.1:4002', id, { token: 'a', page: null }));
  assert.equal(page.run('typeof got'), 'undefined');
});

test('a page that is loaded anew does not get the answer of the one before', async () => {
  const [before, page] = [open(), open()];
  before.run('svcShell.signIn()');
  const asked = page.run('svcShell.signIn()') as Promise<SignedIn>;
  const [first, second] = [before, page].map(({ posted }) => parsePageQuestion(posted[0]!)!);
  // The first answer is useless by then: the second question gets another token, which replaces it.
  page.run(answerScript(origin, first!.id, { token: 'a', page: null }));
  page.run(answerScript(origin, second!.id, { token: 'b', page: null }));
  assert.equal((await asked).token, 'b');
});

test('a page in a frame has no bridge, and no page can change it', () => {
  assert.equal(open({ isFramed: true }).run('typeof svcShell'), 'undefined');
  const page = open();
  page.run('svcShell.signIn = 1; svcShell = 2;');
  assert.equal(page.run('typeof svcShell.signIn'), 'function');
});

test('what is no question of the script is none', () => {
  for (const text of ['', '1', 'null', '{}', '{"ask":"signIn"}', '{"ask":"x","id":1}', '{"id":']) {
    assert.equal(parsePageQuestion(text), null, text);
  }
});
