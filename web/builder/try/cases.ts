/**
 * Test cases of a brain. They travel with the configuration: in its file, as the brain's own
 * `_try`, a list of `{text, note?, history?, expect?}`; the service reads no key that begins with
 * `_`, and `svc try` alone judges by what is expected.
 */
import type { Json, JsonObject } from '../../../src/config/locate.ts';
import { insertEntry, removeAt, setValue } from '../../../src/config/edit/edit-text.ts';
import { keysAt } from '../document/fields.ts';
import type { Path } from '../../../src/config/edit/path.ts';
import { ProblemList } from '../../../src/config/problems.ts';
import { sayExpectation } from '../../../src/config/say-expectation.ts';
import { readExpectation, type Earlier } from '../../../src/config/test-case.ts';
import { isList, isObject, valueAt } from '../document/value.ts';
import { textAt } from '../graph/reading.ts';

export type TestCase = {
  readonly text: string;
  readonly note: string;
  readonly history: readonly Earlier[];
};

/**
 * `index` is the place in the list. Entries that are no case are left out, but stay in the file.
 * `expects` says what the case expects in words; empty: any reply.
 */
export type KeptCase = TestCase & { readonly index: number; readonly expects: string };

export function casesOf(document: JsonObject, brain: Path): readonly KeptCase[] {
  const list = valueAt(document, [...brain, '_try']);
  return (isList(list) ? list : []).flatMap((entry, index) => {
    const text = textAt(entry, 'text');
    if (text === '') return [];
    const expects = isObject(entry) ? sayExpected(entry['expect']) : '';
    return [{ index, text, note: textAt(entry, 'note'), history: historyOf(entry), expects }];
  });
}

function sayExpected(written: Json | undefined): string {
  const problems = new ProblemList('', new Map());
  const expect = readExpectation(written, 'expect', problems);
  const [problem] = problems.sorted();
  if (problem !== undefined) return `cannot be read at ${problem.path}: ${problem.message}`;
  return expect === null ? '' : sayExpectation(expect);
}

function historyOf(entry: Json): readonly Earlier[] {
  const list = isObject(entry) ? entry['history'] : undefined;
  return (isList(list) ? list : []).flatMap((turn) => {
    const asked = textAt(turn, 'asked');
    return asked === '' ? [] : [{ asked, answered: textAt(turn, 'answered') }];
  });
}

type Written = { readonly text: string; readonly document: JsonObject };

/** null: the case cannot be kept there. */
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
