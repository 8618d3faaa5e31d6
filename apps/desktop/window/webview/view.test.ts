/** The page of a webview, with a fake of the library. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { BrowserWindow, WebContext, WebviewOptions } from '@webviewjs/webview';
import { until } from '../../../../test/support/waiting.ts';
import { View } from './view.ts';

const shell = 'http://127.0.0.1:4001';
const core = 'http://127.0.0.1:4002';

type Answer = (error: Error | null, result: string) => void;

/** A fake of the library's webview: it records its calls, and shows the page that the test sets. */
class FakeWebview extends EventEmitter {
  readonly options: WebviewOptions;
  readonly loaded: string[] = [];
  readonly ran: string[] = [];
  ask: (message: { readonly body: Buffer; readonly uri: string }) => void = () => {};
  /** The address of its page; empty for an error page of the engine. */
  href = '';

  constructor(options: WebviewOptions) {
    super();
    this.options = options;
  }

  loadUrl(url: string): void {
    this.loaded.push(url);
  }

  loadHtml(html: string): void {
    this.loaded.push(`page: ${/<h1>(.*?)</.exec(html)?.[1]}`);
  }

  onIpcMessage(ask: FakeWebview['ask']): void {
    this.ask = ask;
  }

  evaluateScript(script: string): void {
    this.ran.push(script);
  }

  evaluateScriptWithCallback(_script: string, answer: Answer): void {
    setImmediate(() => answer(null, JSON.stringify(this.href)));
  }

  isDisposed(): boolean {
    return false;
  }

  finish(url: string, href = url): void {
    this.href = href;
    this.emit('page-load-finished', { event: 'page-load-finished', url });
  }
}

function open() {
  const told: string[] = [];
  const changed = new EventEmitter();
  const tell = (what: string): void => {
    told.push(what);
    changed.emit('told');
  };
  let made: FakeWebview | undefined;
  const window = {
    createWebview: (options: WebviewOptions) => (made = new FakeWebview(options)),
    setTitle: () => {},
  };
  const view = new View(window as unknown as BrowserWindow, {} as WebContext, [shell], {
    onLoaded: (url) => tell(`loaded ${url}`),
    onUnanswered: (url) => tell(`unanswered ${url}`),
    onElsewhere: (url) => tell(`elsewhere ${url}`),
    onHopeless: () => tell('hopeless'),
    signIn: async () => {
      tell('signed in');
      return { token: 'a-token', page: null };
    },
  });
  const next = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    changed.once('told', resolve);
    return promise;
  };
  const page = made!;
  const mayGo = (url: string): boolean => page.options.navigationHandler(url);
  return { view, page, told, next, mayGo };
}

/** Resolves once all questions to the page are answered. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('a page goes where it is told that it may, and waits for what is told late', async () => {
  const { view, page, told, next, mayGo } = open();
  using _ = view;
  view.open(`${shell}/open/once`);
  assert.ok(mayGo(`${shell}/open/once`));
  assert.ok(!mayGo(`${core}/ui#code`), 'nobody has told of it yet');
  view.trust([shell, core]);
  assert.deepEqual(page.loaded, [`${shell}/open/once`, `${core}/ui#code`]);
  assert.ok(mayGo(`${core}/ui#code`));
  page.finish(`${core}/ui#code`);
  await next();
  assert.deepEqual(told, [`loaded ${core}/ui#code`]);
  // The engine may go on showing the former page, as if nothing had changed.
  assert.match(page.ran.join(), /requestAnimationFrame/);
});

test('another program of this machine is elsewhere, like the web', async () => {
  const { view, told, next, mayGo } = open();
  using _ = view;
  assert.ok(!mayGo('https://example.com/'));
  assert.ok(!mayGo('http://127.0.0.1:9/'));
  assert.ok(!mayGo('file:///etc/passwd'));
  await next();
  assert.deepEqual(told, ['elsewhere https://example.com/', 'elsewhere http://127.0.0.1:9/']);
});

test('a page that nobody answers for is told, and tried again', async () => {
  const { view, page, told, next, mayGo } = open();
  using _ = view;
  view.open(`${shell}/app/`);
  assert.ok(mayGo(`${shell}/app/`));
  page.finish(`${shell}/app/`, 'about:blank');
  await next();
  assert.deepEqual(told, [`unanswered ${shell}/app/`]);
  assert.deepEqual(page.loaded.slice(1), ['page: svc does not answer']);
  await until('another try', () => page.loaded.length === 3);
  assert.equal(page.loaded[2], `${shell}/app/`);
});

test('a page that the engine dropped for the one before it is opened again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { view, page, told, next } = open();
  using _ = view;
  view.open(`${shell}/app/`);
  view.open(`${shell}/app/close`);
  page.finish(`${shell}/app/close`, `${shell}/app/`);
  await next();
  t.mock.timers.tick(500);
  await next();
  assert.deepEqual(told, [`loaded ${shell}/app/close`, `unanswered ${shell}/app/close`]);
  t.mock.timers.tick(1_000);
  assert.deepEqual(page.loaded.slice(1), [`${shell}/app/close`, `${shell}/app/close`]);
});

test('a page of before that ends under the address of the next takes no place', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { view, page, told, next } = open();
  using _ = view;
  view.open(`${shell}/app/`);
  page.finish(`${shell}/app/`, 'unanswered');
  await settled();
  page.finish(`${shell}/app/`);
  await next();
  t.mock.timers.tick(2_000);
  await settled();
  assert.deepEqual(told, [`loaded ${shell}/app/`]);
  assert.deepEqual(page.loaded, [`${shell}/app/`]);
});

for (const stands of ['unanswered', 'about:blank']) {
  test(`a page in whose place ${stands} comes is opened again`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { view, page, told, next } = open();
    using _ = view;
    view.open(`${shell}/app/`);
    page.finish(`${shell}/app/`);
    await next();
    page.href = stands;
    t.mock.timers.tick(500);
    await next();
    assert.deepEqual(told, [`loaded ${shell}/app/`, `unanswered ${shell}/app/`]);
    t.mock.timers.tick(1_000);
    assert.deepEqual(page.loaded, [`${shell}/app/`, `${shell}/app/`]);
  });
}

test('what is learned of a page that failed is nothing of one that was opened since', async () => {
  const { view, page, told } = open();
  using _ = view;
  view.open(`${core}/ui`);
  page.finish(`${core}/ui`, 'about:blank');
  view.open(`${shell}/app/`);
  await settled();
  assert.deepEqual(page.loaded, [`${core}/ui`, `${shell}/app/`]);
  assert.deepEqual(told, []);
});

for (const late of [0, 500]) {
  test(`a page that comes ${late} ms after the one before it is left alone`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { view, page, told, next } = open();
    using _ = view;
    view.open(`${shell}/app/close`);
    page.finish(`${shell}/app/close`, `${shell}/app/`);
    await next();
    t.mock.timers.tick(late);
    if (late > 0) await next();
    page.finish(`${shell}/app/close`);
    await next();
    t.mock.timers.tick(1_500);
    await settled();
    assert.deepEqual(page.loaded, [`${shell}/app/close`]);
    assert.equal(told.at(-1), `loaded ${shell}/app/close`);
  });
}

test('only a page of the application is signed in', async () => {
  const { view, page, told } = open();
  using _ = view;
  const body = Buffer.from('{"ask":"signIn","id":1}');
  page.ask({ body, uri: `${core}/ui` });
  page.ask({ body, uri: 'about:blank' });
  page.ask({ body, uri: `${shell}/app/` });
  while (page.ran.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(told, ['signed in']);
  assert.equal(page.ran.length, 1);
  assert.match(page.ran[0] ?? '', /a-token/);
});

test('a new window that a page wants is this one, or none', () => {
  const { view, page } = open();
  using _ = view;
  const wanted = page.options.newWindowHandler;
  const event = { event: 'new-window', target: 'new-window' } as const;
  assert.ok(!wanted({ ...event, url: 'https://example.com/' }));
  assert.ok(!wanted({ ...event, url: `${shell}/app/` }));
});
