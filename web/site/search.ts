/**
 * The search of the documentation site, which needs no server and also works on local files. The
 * index is a script that loads at the first search. Without JavaScript, pages have no search field.
 */
import MiniSearch, { type AsPlainObject, type SearchResult } from 'minisearch';
import { indexName, searchOptions, type Entry } from './search-options.ts';

const shownMax = 12;
const root = document.documentElement.dataset['root'] ?? '';
const form = document.querySelector<HTMLElement>('search')!;
const field = form.querySelector('input')!;
const said = form.querySelector<HTMLElement>('[role=status]')!;
const list = form.querySelector('ol')!;

let loaded: Promise<MiniSearch<Entry>> | null = null;

async function load(): Promise<MiniSearch<Entry>> {
  const script = document.createElement('script');
  script.src = `${root}search-index.js`;
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  script.addEventListener('load', resolve);
  script.addEventListener('error', reject);
  document.head.append(script);
  await promise;
  const index = (globalThis as unknown as Record<string, AsPlainObject>)[indexName]!;
  return MiniSearch.loadJS<Entry>(index, searchOptions);
}

function itemOf({ url, title, heading }: SearchResult): HTMLElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = root + String(url);
  link.textContent = String(heading === title ? title : `${title}: ${heading}`);
  item.append(link);
  return item;
}

async function search(): Promise<void> {
  const asked = field.value;
  try {
    loaded ??= load();
    const index = await loaded;
    // The person has typed on meanwhile.
    if (field.value !== asked) return;
    const found = asked.trim() === '' ? [] : index.search(asked);
    list.replaceChildren(...found.slice(0, shownMax).map(itemOf));
    said.textContent = asked.trim() === '' ? '' : wordsOf(found.length);
  } catch {
    loaded = null;
    list.replaceChildren();
    said.textContent = 'The index of the search, search-index.js, cannot be loaded.';
  }
}

function wordsOf(found: number): string {
  if (found === 0) return 'Nothing was found.';
  if (found > shownMax) return `The best ${shownMax} of ${found} places`;
  return found === 1 ? '1 place' : `${found} places`;
}

function close(): void {
  field.value = '';
  list.replaceChildren();
  said.textContent = '';
}

field.addEventListener('input', () => void search());
form.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  close();
  field.focus();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  field.focus();
});
form.hidden = false;
