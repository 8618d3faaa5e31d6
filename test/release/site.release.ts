/** The site of the documents, served from a subfolder. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, posix, relative } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Parser } from 'htmlparser2';
import { browserTest } from '../browser/browser.ts';
import { root } from '../support/run-svc.ts';
import { made } from './made.ts';

const { path: site, skip } = made('site', 'site');
assert.equal(skip, false);

const files = globSync('**/*.*', { cwd: site }).toSorted();
const pages = files.filter((file) => extname(file) === '.html');
const read = (file: string): string => readFileSync(join(site, file), 'utf8');

type Element = { readonly name: string; readonly attributes: Readonly<Record<string, string>> };

const elementsOf = new Map(
  pages.map((page) => {
    const elements: Element[] = [];
    const parser = new Parser({
      onopentag: (name, attributes) => void elements.push({ name, attributes }),
    });
    parser.end(read(page));
    return [page, elements] as const;
  }),
);

/** Each address in a page, and its target relative to the root of the site. */
const references = pages.flatMap((page) =>
  elementsOf.get(page)!.flatMap(({ name, attributes }) => {
    const href = attributes['href'] ?? attributes['src'];
    const isHere = attributes['aria-current'] === 'page';
    return href === undefined ? [] : [{ page, name, href, isHere, ...targetOf(page, href) }];
  }),
);

function targetOf(page: string, href: string): { readonly file: string; readonly anchor: string } {
  const [path = '', anchor = ''] = href.split('#');
  return { file: path === '' ? page : posix.join(dirname(page), path), anchor };
}

const isElsewhere = (href: string): boolean => /^[a-z]+:/i.test(href);

test('every document has its page, and every page can be reached from the first', () => {
  const documents = globSync(['{README,CHANGELOG}.md', 'docs/**/*.md', 'examples/**/README.md'], {
    cwd: root,
  });
  for (const document of documents) {
    const page = document.replace(/README\.md$/, 'index.html').replace(/\.md$/, '.html');
    assert.ok(pages.includes(page), document);
  }
  const reached = new Set(['index.html']);
  for (const page of reached) {
    const from = references.filter((one) => one.page === page && pages.includes(one.file));
    for (const { file } of from) reached.add(file);
  }
  assert.deepEqual([...reached].toSorted(), pages);
});

test('pages are turned from the first to the last and back, each beside its shelf', () => {
  const leads = (page: string, rel: string): string | undefined => {
    const link = elementsOf.get(page)!.find(({ attributes }) => attributes['rel'] === rel);
    return link && targetOf(page, link.attributes['href']!).file;
  };
  const turned: string[] = [];
  for (let page: string | undefined = 'index.html'; page !== undefined;) {
    const next = leads(page, 'next');
    assert.equal(leads(page, 'prev'), turned.at(-1));
    const beside = references.filter((one) => one.page === page && one.isHere);
    assert.deepEqual(
      beside.map(({ file }) => file),
      [page],
      `${page} is marked beside its text`,
    );
    turned.push(page);
    page = next;
  }
  assert.deepEqual(turned.toSorted(), pages);
  const shelves = new Set(turned.map((page) => page.split('/').slice(0, -1).slice(0, 2).join('/')));
  const order = ['get-started', 'recipes', 'how-to', 'reference', 'how-it-works', 'decisions'];
  const ours = [...shelves].filter((shelf) => shelf.startsWith('docs/'));
  assert.deepEqual(
    ours.filter((shelf) => order.includes(shelf.slice('docs/'.length))),
    order.map((shelf) => `docs/${shelf}`),
  );
});

test('every link leads to a file of the site, and to an anchor that is there once', () => {
  const within = references.filter(({ href }) => !isElsewhere(href));
  assert.ok(within.length > 500, 'links were found');
  for (const { page, href, file, anchor } of within) {
    assert.ok(existsSync(join(site, file)), `${page} leads to ${href}`);
    if (anchor === '') continue;
    const there = elementsOf.get(file)!.filter(({ attributes }) => attributes['id'] === anchor);
    assert.equal(there.length, 1, `${page} leads to ${href}`);
  }
});

test('every place that the search knows is there', () => {
  const [, index = ''] = /^svcSearchIndex = (.*);\n$/.exec(read('search-index.js')) ?? [];
  const { storedFields } = JSON.parse(index) as {
    readonly storedFields: Readonly<Record<string, { readonly url: string }>>;
  };
  const urls = Object.values(storedFields).map(({ url }) => url);
  assert.ok(urls.length > 100);
  for (const url of urls) {
    const { file, anchor } = targetOf('index.html', url);
    const elements = elementsOf.get(file) ?? [];
    const isThere = ({ attributes }: Element): boolean => attributes['id'] === anchor;
    assert.ok(anchor === '' ? elements.length > 0 : elements.some(isThere), url);
  }
});

test('what a page loads is its own, and its policy allows nothing else', () => {
  const policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; " +
    "img-src 'self'; base-uri 'none'; form-action 'none'";
  for (const { page, name, href } of references) {
    if (name !== 'a') assert.ok(!isElsewhere(href), `${page} loads ${href}`);
  }
  for (const page of pages) {
    const elements = elementsOf.get(page)!;
    const metas = elements.filter(({ name }) => name === 'meta');
    const said = metas.find(({ attributes }) => 'http-equiv' in attributes);
    assert.equal(said?.attributes['content'], policy, page);
    for (const { name, attributes } of elements) {
      assert.ok(name !== 'style' && !('style' in attributes), `${page} has a style in a ${name}`);
      assert.ok(!Object.keys(attributes).some((one) => one.startsWith('on')), page);
    }
  }
  assert.doesNotMatch(read('style.css'), /url\(|@import/);
});

test('nothing in it tells where it was made', () => {
  for (const file of files.filter((one) => extname(one) !== '.png')) {
    for (const words of [root, site]) assert.ok(!read(file).includes(words), file);
  }
});

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
};
const base = '/a/folder/';

/** A minimal file server, with the site in a folder. */
async function startSite() {
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://site').pathname;
    const name = relative(base, path.endsWith('/') ? `${path}index.html` : path);
    const isThere = path.startsWith(base) && files.includes(name);
    response.writeHead(isThere ? 200 : 404, { 'content-type': types[extname(name)] ?? '' });
    response.end(isThere ? readFileSync(join(site, name)) : 'There is no such file.');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** README.md says in its first paragraph, in bold, what svc is. */
const [, sentence = ''] = /^\*\*([^]+?)\*\*$/m.exec(readFileSync(join(root, 'README.md'), 'utf8'))!;

test('a preview of a link shows the title of its page, and the first sentences', () => {
  for (const page of pages) {
    const metas = elementsOf.get(page)!.filter(({ name }) => name === 'meta');
    const contentOf = (name: string): string | undefined =>
      metas.find(({ attributes }) => (attributes['name'] ?? attributes['property']) === name)
        ?.attributes['content'];
    assert.ok(contentOf('og:title'), page);
    const summary = contentOf('description');
    assert.equal(contentOf('og:description'), summary);
    if (summary !== undefined) assert.ok(summary.length > 5 && summary.length <= 200, page);
    if (page !== 'index.html') continue;
    assert.equal(summary, sentence);
    assert.match(read(page), /<title>svc: a self-hosted message router<\/title>/);
  }
});

for (const [what, viewport] of Object.entries({
  'a screen': { width: 1280, height: 800 },
  'a telephone': { width: 390, height: 844 },
})) {
  const name = `on ${what} the first page shows what svc is, a picture, and how to go on`;
  browserTest(name, startSite, async ({ open }) => {
    const view = await open({ viewport });
    const { page } = view;
    await page.goto(base);
    const picture = page.getByRole('main').getByRole('img').first();
    await picture.evaluate('(one) => one.decode()');
    const seen = [
      page.getByRole('heading', { level: 1, name: 'svc', exact: true }),
      page.getByText(sentence).first(),
      page.getByRole('navigation', { name: 'Begin' }).getByRole('link', { name: 'Install' }),
      page.getByRole('navigation', { name: 'Begin' }).getByRole('link', { name: 'Get started' }),
      picture,
    ];
    for (const one of seen) {
      const { y, width, height } = (await one.boundingBox())!;
      assert.ok(y + height <= viewport.height, `${String(one)} ends at ${y + height}`);
      assert.ok(width > 0);
    }
    assert.ok(((await picture.getAttribute('alt')) ?? '').length > 20);
    await view.assertFits();
    await view.assertAccessible();
  });
}

browserTest(
  'a picture leads to its file, and a shelf to its pages',
  startSite,
  async ({ open }) => {
    const { page } = await open();
    await page.goto(base);
    const picture = page.getByRole('main').getByRole('img').first();
    const src = (await picture.getAttribute('src'))!;
    const alt = (await picture.getAttribute('alt'))!;
    await page.getByRole('link', { name: alt, exact: true }).press('Enter');
    await page.waitForURL(new RegExp(`${RegExp.escape(src)}$`));
    await page.goBack();
    await page.getByRole('link', { name: 'Reference', exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Reference' }).waitFor();
  },
);

browserTest('known words are found, and lead to their heading', startSite, async ({ open }) => {
  const view = await open();
  const { page } = view;
  await page.goto(`${base}docs/how-it-works/delivery.html`);
  const field = page.getByRole('searchbox', { name: 'Search the documents' });
  await page.keyboard.press('/');
  await field.pressSequentially('dead letters kept');
  await page.locator('search li').first().waitFor();
  await view.assertAccessible();
  await field.fill('configuration observability');
  await page
    .getByRole('link', { name: 'Configuration reference: observability', exact: true })
    .click();
  await page.waitForURL(/docs\/reference\/configuration\.html#observability$/);
  await field.fill('qqqqzzzz');
  await page.getByText('Nothing was found.').waitFor();
  await field.press('Escape');
  await page.getByText('Nothing was found.').waitFor({ state: 'detached' });
  assert.equal(await field.inputValue(), '');
});

const [screen, telephone] = [
  { width: 1280, height: 720 },
  { width: 320, height: 640 },
];

for (const [shelf, its] of Map.groupBy(pages, dirname)) {
  const what = `the pages of ${shelf} can be read by everybody, and fit a small telephone`;
  browserTest(what, startSite, async ({ open }) => {
    const view = await open({ viewport: screen });
    for (const path of its) {
      await view.page.goto(base + path);
      await view.assertAccessible();
      await view.page.setViewportSize(telephone);
      await view.assertFits();
      await view.page.setViewportSize(screen);
    }
  });
}

browserTest('what the search finds fits a small telephone', startSite, async ({ open }) => {
  const view = await open({ viewport: telephone });
  await view.page.goto(base);
  await view.page.getByRole('searchbox').fill('telegram');
  await view.page.locator('search li').first().waitFor();
  await view.assertFits();
});

browserTest('without scripts all is there but the search', startSite, async ({ open }) => {
  const { page } = await open({ javaScriptEnabled: false });
  await page.goto(base);
  await page.getByRole('link', { name: 'Changelog', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Changelog' }).waitFor();
  assert.equal(await page.getByRole('searchbox').count(), 0);
});

const opened = async () => ({ origin: 'file://', async [Symbol.asyncDispose]() {} });

browserTest('opened as files it can be read and searched', opened, async (stage) => {
  const { page } = await stage.open();
  await page.goto(pathToFileURL(join(site, 'index.html')).href);
  const colour = () =>
    page.locator('pre').first().evaluate('(one) => getComputedStyle(one).padding');
  assert.notEqual(await colour(), '0px', 'its style is in use');
  await page.getByRole('link', { name: 'Changelog', exact: true }).first().click();
  await page.getByRole('heading', { level: 1, name: 'Changelog' }).waitFor();
  await page.getByRole('searchbox').fill('telegram');
  await page.locator('search li').first().getByRole('link').click();
  await page.waitForURL(/^file:.*\/docs\/.*telegram.*\.html/);
});
