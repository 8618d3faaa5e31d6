/**
 * Test cases of a brain. The configuration's file holds them as the brain's own `_try`, a list of
 * `{text, note?, history?, expect?}`. The service reads no key that begins with `_`.
 */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { insertEntry, removeAt, setValue } from '../../../src/config/edit/edit-text.ts';
import { keysAt } from '../document/fields.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { ProblemList } from '../../../src/config/problems.ts';
import { readExpectation, type Earlier, type Expectation } from '../../../src/config/test-case.ts';
import { isObject } from '../../../src/lib/json.ts';
import { isList, valueAt } from '../document/value.ts';
import { textAt } from '../graph/reading.ts';

export type TestCase = {
  readonly text: string;
  readonly note: string;
  readonly history: readonly Earlier[];
};

/**
 * `index` counts within the list in the file, which may have invalid entries that are not shown.
 */
export type KeptCase = TestCase & { readonly index: number; readonly expected: Expected };

/** The expectation for the reply. `any`: there is none. */
export type Expected =
  | { readonly kind: 'any' }
  | { readonly kind: 'told'; readonly expect: Expectation }
  | { readonly kind: 'unreadable'; readonly why: string };

export function casesOf(document: JsonObject, brain: Path): readonly KeptCase[] {
  const list = valueAt(document, [...brain, '_try']);
  return (isList(list) ? list : []).flatMap((entry, index) => {
    const text = textAt(entry, 'text');
    if (text === '') return [];
    const expected = expectedOf(isObject(entry) ? entry['expect'] : undefined);
    return [{ index, text, note: textAt(entry, 'note'), history: historyOf(entry), expected }];
  });
}

function expectedOf(written: Json | undefined): Expected {
  const problems = new ProblemList('', new Map());
  const expect = readExpectation(written, 'expect', problems);
  const [problem] = problems.sorted();
  if (problem !== undefined) {
    return { kind: 'unreadable', why: `${problem.path}: ${problem.message}. ${problem.remedy}` };
  }
  return expect === null ? { kind: 'any' } : { kind: 'told', expect };
}

function historyOf(entry: Json): readonly Earlier[] {
  const list = isObject(entry) ? entry['history'] : undefined;
  return (isList(list) ? list : []).flatMap((turn) => {
    const asked = textAt(turn, 'asked');
    return asked === '' ? [] : [{ asked, answered: textAt(turn, 'answered') }];
  });
}

type Written = { readonly text: string; readonly document: JsonObject };

/** @returns null if the case cannot be added there */
export function keepCase({ text, document }: Written, brain: Path, kept: TestCase): string | null {
  const path = [...brain, '_try'];
  const value: JsonObject = {
    text: kept.text,
    ...(kept.note === '' ? {} : { note: kept.note }),
    ...(kept.history.length === 0 ? {} : { history: kept.history }),
  };
  const list = valueAt(document, path);
  if (isList(list)) return insertEntry(text, path, list.length, value, keysAt);
  return list === undefined ? setValue(text, path, [value], keysAt) : null;
}

/** Removes a case, and the list with its last case. */
export function dropCase({ text, document }: Written, brain: Path, index: number): string | null {
  const path = [...brain, '_try'];
  const list = valueAt(document, path);
  return removeAt(text, isList(list) && list.length === 1 ? path : [...path, index]);
}
