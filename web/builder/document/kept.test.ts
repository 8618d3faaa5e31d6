/** Drafts in the browser's storage: which tab owns them, and when they are removed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptDrafts, type Shelf } from './kept.ts';
import { useDraft, type Base } from './store.ts';

function shelf(charactersMax = Infinity): Shelf {
  const kept = new Map<string, string>();
  return {
    get length() {
      return kept.size;
    },
    key: (at) => [...kept.keys()][at] ?? null,
    getItem: (key) => kept.get(key) ?? null,
    removeItem: (key) => void kept.delete(key),
    setItem(key, value) {
      if (value.length > charactersMax) throw new DOMException('full', 'QuotaExceededError');
      kept.set(key, value);
    },
  };
}

const baseOf = (revision: string, text = '{ "a": 0 }'): Base => {
  return { revision, text, file: 'svc.json', usedAt: 0 };
};
const draftOf = (text: string, base = baseOf('r1')) => {
  useDraft.getState().open(base, text);
  return useDraft.getState();
};
const textsOf = (drafts: readonly { readonly text: string }[]) => drafts.map(({ text }) => text);

/** Each call is a page of one tab: the first load, or a reload. */
const tabOf =
  (all: Shelf, tab = shelf()) =>
  () =>
    new KeptDrafts(
      () => tab,
      () => all,
    );

test('a draft goes on after a reload, for as long as nothing else came into use', () => {
  const page = tabOf(shelf());
  const first = page();
  assert.deepEqual(first.begin(baseOf('r1')), { resumed: null, offered: [] });
  assert.equal(first.keep(draftOf('{ "a": 1 }')), null);
  for (let reload = 0; reload < 3; reload++) {
    const { resumed, offered } = page().begin(baseOf('r1'));
    assert.equal(resumed?.text, '{ "a": 1 }');
    assert.deepEqual(offered, []);
  }
});

test('what is offered stays until a person decides, whatever is done beside it', () => {
  const page = tabOf(shelf());
  const before = page();
  before.begin(baseOf('r1'));
  before.keep(draftOf('{ "a": 1 }'));
  const later = page();
  const { resumed, offered } = later.begin(baseOf('r2'));
  assert.equal(resumed, null);
  assert.deepEqual(textsOf(offered), ['{ "a": 1 }']);
  later.keep(draftOf('{ "a": 0 }', baseOf('r2')));
  later.keep(draftOf('{ "a": 2 }', baseOf('r2')));
  later.keep(draftOf('{ "a": 0 }', baseOf('r2')));
  const again = page();
  assert.deepEqual(textsOf(again.begin(baseOf('r2')).offered), ['{ "a": 1 }']);
  again.forget(offered[0].id);
  assert.deepEqual(page().begin(baseOf('r2')), { resumed: null, offered: [] });
});

test('no tab removes or overwrites the draft of another one', () => {
  const all = shelf();
  const [one, two] = [tabOf(all), tabOf(all)];
  const [mine, other] = [one(), two()];
  mine.begin(baseOf('r1'));
  other.begin(baseOf('r1'));
  mine.keep(draftOf('{ "a": 1 }'));
  other.keep(draftOf('{ "a": 0 }'));
  other.keep(draftOf('{ "a": 2 }'));
  assert.equal(one().begin(baseOf('r1')).resumed?.text, '{ "a": 1 }');
  assert.equal(two().begin(baseOf('r1')).resumed?.text, '{ "a": 2 }');
  const third = tabOf(all)().begin(baseOf('r1'));
  assert.equal(third.resumed, null);
  assert.deepEqual(textsOf(third.offered).toSorted(), ['{ "a": 1 }', '{ "a": 2 }']);
});

test('what other tabs keep is told as it is now, without what a tab writes itself', () => {
  const all = shelf();
  const [mine, other] = [tabOf(all)(), tabOf(all)()];
  mine.begin(baseOf('r1'));
  other.begin(baseOf('r1'));
  mine.keep(draftOf('{ "a": 1 }'));
  assert.deepEqual(textsOf(other.others(baseOf('r1'))), ['{ "a": 1 }']);
  assert.deepEqual(mine.others(baseOf('r1')), []);
  mine.keep(draftOf('{ "a": 2 }'));
  assert.deepEqual(textsOf(other.others(baseOf('r1'))), ['{ "a": 2 }']);
  assert.deepEqual(other.others(baseOf('r2', '{ "a": 2 }')), []);
  mine.keep(draftOf('{ "a": 0 }'));
  assert.deepEqual(other.others(baseOf('r1')), []);
});

test('a tab and its double keep apart what they write', () => {
  const [all, tab] = [shelf(), shelf()];
  const page = tabOf(all, tab);
  const first = page();
  first.begin(baseOf('r1'));
  first.keep(draftOf('{ "a": 1 }'));
  const twin = page();
  assert.equal(twin.begin(baseOf('r1')).resumed?.text, '{ "a": 1 }');
  first.keep(draftOf('{ "a": 11 }'));
  twin.keep(draftOf('{ "a": 0 }'));
  assert.deepEqual(textsOf(tabOf(all)().begin(baseOf('r1')).offered), ['{ "a": 11 }']);
});

test('what came into use is no draft any more', () => {
  const page = tabOf(shelf());
  const first = page();
  first.begin(baseOf('r1'));
  first.keep(draftOf('{ "a": 1 }'));
  assert.deepEqual(page().begin(baseOf('r2', '{ "a": 1 }')), { resumed: null, offered: [] });
  assert.deepEqual(page().begin(baseOf('r3')), { resumed: null, offered: [] });
});

test('what cannot be kept is said, and the draft before it is not passed off for it', () => {
  const page = tabOf(shelf(200));
  const first = page();
  first.begin(baseOf('r1'));
  first.keep(draftOf('{ "a": 1 }'));
  assert.deepEqual(first.keep(draftOf('{ "a": ')), { kind: 'no_json' });
  const { resumed } = page().begin(baseOf('r1'));
  assert.deepEqual([resumed?.text, resumed?.more], ['{ "a": 1 }', true]);
  const secret = '{ "_note": "Bearer sk-0123456789" }';
  assert.deepEqual(first.keep(draftOf(secret)), { kind: 'secret', place: '_note' });
  assert.deepEqual(first.keep(draftOf(`{ "a": "${'x'.repeat(300)}" }`)), { kind: 'full' });
  const noShelf = (): Shelf => {
    throw new DOMException('denied', 'SecurityError');
  };
  const denied = new KeptDrafts(noShelf, noShelf);
  assert.deepEqual(denied.begin(baseOf('r1')), { resumed: null, offered: [] });
  assert.deepEqual(denied.keep(draftOf('{ "a": 1 }')), { kind: 'full' });
});

test('where there is no room to move a draft it goes on where it is', () => {
  const all = shelf();
  const page = tabOf(all);
  const first = page();
  first.begin(baseOf('r1'));
  first.keep(draftOf('{ "a": 1 }'));
  const { setItem } = all;
  all.setItem = () => {
    throw new DOMException('full', 'QuotaExceededError');
  };
  assert.equal(page().begin(baseOf('r1')).resumed?.text, '{ "a": 1 }');
  all.setItem = setItem;
  assert.equal(page().begin(baseOf('r1')).resumed?.text, '{ "a": 1 }');
});

test('of more than twenty drafts the oldest go', () => {
  const all = shelf();
  for (let tab = 0; tab < 25; tab++) {
    const page = tabOf(all)();
    page.begin(baseOf('r1'));
    page.keep(draftOf(`{ "a": ${tab + 1} }`));
  }
  assert.equal(tabOf(all)().begin(baseOf('r1')).offered.length, 20);
});

test('all drafts go at once, of every tab, and nothing else of the browser', () => {
  const all = shelf();
  all.setItem('theme', 'dark');
  const [one, two] = [tabOf(all)(), tabOf(all)()];
  for (const [at, page] of [one, two].entries()) {
    page.begin(baseOf('r1'));
    page.keep(draftOf(`{ "a": ${at + 1} }`));
  }
  all.setItem('svc-builder-draft.torn', '{');
  assert.equal(one.count, 2);
  one.forgetAll();
  assert.equal(two.count, 0);
  assert.deepEqual([all.length, all.key(0)], [1, 'theme']);
});
