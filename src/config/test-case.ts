/**
 * The test cases of a brain: reads its `_try`, and describes an expectation in words. The service
 * reads no key that begins with `_`, so the check of a configuration does not read test cases. Only
 * `svc try` and the builder use this file.
 */
import { nearest } from './nearest.ts';
import { isObject } from '../lib/json.ts';
import { isList } from './json-value.ts';
import { memberPath, type Json, type JsonObject } from './locate.ts';
import type { ProblemList } from './problems.ts';
import { quote } from './quote.ts';
import { isIgnoredKey } from './shape.ts';

/** `contains “nine”, does not call http_fetch, in 2 of 3 runs`. */
export function describeExpectation(expect: Expectation): string {
  const { text, contains, matches, calls, notCalls, judge, of } = expect;
  const parts = [
    ...(text === null ? [] : [`is “${text}”`]),
    ...contains.map((part) => `contains “${part}”`),
    ...(matches === null ? [] : [`matches /${matches}/`]),
    ...calls.map((call) => `calls ${describeCall(call)}`),
    ...notCalls.map((tool) => `does not call ${tool}`),
    ...(judge === null ? [] : [`is judged by ${judge.model}: “${judge.asks}”`]),
  ];
  const sentence = parts.length === 0 ? 'any reply' : parts.join(', ');
  return of.runs === 1 ? sentence : `${sentence}, in ${of.pass} of ${of.runs} runs`;
}

export function describeCall({ tool, arguments: given }: ExpectedCall): string {
  return given === null ? tool : `${tool} with ${JSON.stringify(given)}`;
}

/** An earlier turn of the conversation. `answered` is empty if there was no answer. */
export type Earlier = { readonly asked: string; readonly answered: string };

type TestCase = {
  /** The sender's message. */
  readonly text: string;
  readonly note: string;
  /** Oldest first. */
  readonly history: readonly Earlier[];
  /** null: any reply passes. */
  readonly expect: Expectation | null;
};

/** Every part must hold. */
export type Expectation = {
  /** The reply is this text, compared as answers are for a consensus. */
  readonly text: string | null;
  readonly contains: readonly string[];
  /** A JavaScript regular expression, for the flag `u`. */
  readonly matches: string | null;
  readonly calls: readonly ExpectedCall[];
  readonly notCalls: readonly string[];
  readonly judge: ExpectedJudge | null;
  readonly of: Share;
};

/** `arguments` are fields that the call must have, with equal values; null: any arguments. */
export type ExpectedCall = { readonly tool: string; readonly arguments: JsonObject | null };

/** `model` is `provider/model_id`. The judge checks the reply against the sentence `asks`. */
export type ExpectedJudge = { readonly model: string; readonly asks: string };

/** How many times the case runs, and how many of the runs must pass. */
type Share = { readonly runs: number; readonly pass: number };

/** `index` is the place in the list. */
export type PlacedCase = TestCase & { readonly index: number };

const runsMax = 20;
const patternCharactersMax = 1_000;
const oneRun: Share = { runs: 1, pass: 1 };

/**
 * Reads the test cases of a brain. A fault adds a problem. An entry that is no object is left out.
 * @param value the brain's `_try`
 */
export function readTestCases(
  value: Json | undefined,
  path: string,
  problems: ProblemList,
): readonly PlacedCase[] {
  if (value === undefined || value === null) return [];
  if (!isList(value)) {
    problems.add('wrong_type', path, 'the test cases are no list', `Write [ ${example} ].`);
    return [];
  }
  const reader = new CaseReader(problems);
  return value.flatMap((entry, index) => {
    const testCase = reader.case(entry, `${path}[${index}]`);
    return testCase === null ? [] : [{ ...testCase, index }];
  });
}

/** Reads the `expect` of a test case; null: it has none. */
export function readExpectation(
  value: Json | undefined,
  path: string,
  problems: ProblemList,
): Expectation | null {
  return new CaseReader(problems).expectation(value, path);
}

const example = '{ "text": "When do you open?", "expect": { "contains": "nine" } }';
const fields = {
  case: ['text', 'note', 'history', 'expect'],
  turn: ['asked', 'answered'],
  expect: ['text', 'contains', 'matches', 'calls', 'not_calls', 'judge', 'of'],
  call: ['tool', 'arguments'],
  judge: ['model', 'asks'],
  share: ['runs', 'pass'],
} as const;

class CaseReader {
  readonly #problems: ProblemList;

  constructor(problems: ProblemList) {
    this.#problems = problems;
  }

  case(value: Json, path: string): TestCase | null {
    const entry = this.#object(value, path, fields.case, `Write ${example}, or remove it.`);
    if (entry === null) return null;
    const text = this.#text(entry['text'], `${path}.text`, 'Write what a sender says.');
    const note = this.#optional(entry['note'], () =>
      this.#text(entry['note'], `${path}.note`, 'Write a text, or remove the note.'),
    );
    const turns = this.#list(entry['history'], `${path}.history`, 'Write [ { "asked": "…" } ].');
    const history = turns.map((turn, index) => this.#turn(turn, `${path}.history[${index}]`));
    const expect = this.expectation(entry['expect'], `${path}.expect`);
    return { text, note: note ?? '', history, expect };
  }

  #turn(value: Json, path: string): Earlier {
    const remedy = 'Write { "asked": "what was said", "answered": "the reply" }.';
    const turn = this.#object(value, path, fields.turn, remedy);
    if (turn === null) return { asked: '', answered: '' };
    const asked = this.#text(turn['asked'], `${path}.asked`, 'Write what the sender said.');
    const answered = turn['answered'] === '' ? null : turn['answered'];
    const reply = this.#optional(answered, () =>
      this.#text(answered, `${path}.answered`, 'Write the reply as a text, or leave it out.'),
    );
    return { asked, answered: reply ?? '' };
  }

  expectation(value: Json | undefined, path: string): Expectation | null {
    if (value === undefined || value === null) return null;
    const remedy = 'Write { "contains": "…" }, or another part: text, matches, calls, judge.';
    const given = this.#object(value, path, fields.expect, remedy);
    if (given === null) return null;
    const { text, matches, contains, calls, not_calls: notCalls } = given;
    return {
      text: this.#optional(text, () =>
        this.#text(text, `${path}.text`, 'Write the whole reply, or use "contains" for a part.'),
      ),
      contains: this.#oneOrMore(contains, `${path}.contains`, (part, at) =>
        this.#text(part, at, 'Write a text, or a list of texts, that the reply contains.'),
      ),
      matches: this.#optional(matches, () => this.#pattern(matches, `${path}.matches`)),
      calls: this.#oneOrMore(calls, `${path}.calls`, (call, at) => this.#call(call, at)),
      notCalls: this.#oneOrMore(notCalls, `${path}.not_calls`, (tool, at) =>
        this.#text(tool, at, 'Write the name of a tool, or a list of names.'),
      ),
      judge: this.#optional(given['judge'], () => this.#judge(given['judge'], `${path}.judge`)),
      of: this.#optional(given['of'], () => this.#share(given['of'], `${path}.of`)) ?? oneRun,
    };
  }

  #call(value: Json | undefined, path: string): ExpectedCall {
    const remedy = 'Write the name of a tool, or { "tool": "…", "arguments": { … } }.';
    if (!isObject(value)) return { tool: this.#text(value, path, remedy), arguments: null };
    const call = this.#object(value, path, fields.call, remedy) ?? value;
    const tool = this.#text(call['tool'], `${path}.tool`, 'Write the name of a tool.');
    const given = call['arguments'];
    if (given === undefined || given === null || isObject(given)) {
      return { tool, arguments: given ?? null };
    }
    this.#addWrongType(`${path}.arguments`, 'Write an object: { "expression": "6*7" }.');
    return { tool, arguments: null };
  }

  #judge(value: Json | undefined, path: string): ExpectedJudge | null {
    const remedy = 'Write { "model": "provider/model_id", "asks": "Does it …?" }.';
    const judge = this.#object(value, path, fields.judge, remedy);
    if (judge === null) return null;
    const which = 'Write provider/model_id, such as "ollama/llama3.2", of a model of this file.';
    const model = this.#text(judge['model'], `${path}.model`, which);
    const asks = this.#text(judge['asks'], `${path}.asks`, 'Write what the reply is to meet.');
    return { model, asks };
  }

  #share(value: Json | undefined, path: string): Share | null {
    const share = this.#object(value, path, fields.share, 'Write { "runs": 3, "pass": 2 }.');
    if (share === null) return null;
    const runs = this.#integer(share['runs'], `${path}.runs`, runsMax);
    const pass = this.#integer(share['pass'], `${path}.pass`, runs);
    return { runs, pass };
  }

  #pattern(value: Json | undefined, path: string): string {
    const pattern = this.#text(value, path, 'Write a regular expression as a text.');
    if (pattern.length > patternCharactersMax) {
      const message = `the pattern has more than ${patternCharactersMax} characters`;
      this.#problems.add('out_of_range', path, message, 'Write a shorter one.');
      return '';
    }
    try {
      void new RegExp(pattern, 'u');
    } catch {
      const message = 'this is no regular expression of JavaScript (with the flag u)';
      this.#problems.add('wrong_type', path, message, 'For a part of the reply, use "contains".');
    }
    return pattern;
  }

  #integer(value: Json | undefined, path: string, most: number): number {
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) {
      return value;
    }
    const message = value === undefined ? 'this number is missing' : 'this number does not fit';
    this.#problems.add('out_of_range', path, message, `Write a whole number from 1 to ${most}.`);
    return 1;
  }

  #text(value: Json | undefined, path: string, remedy: string): string {
    if (typeof value === 'string' && value.trim() !== '') return value;
    if (value === undefined || value === '') {
      const what = value === '' ? 'empty' : 'missing';
      this.#problems.add('required', path, `this text is ${what}`, remedy);
    } else this.#addWrongType(path, remedy);
    return '';
  }

  #object(
    value: Json | undefined,
    path: string,
    names: readonly string[],
    remedy: string,
  ): JsonObject | null {
    if (!isObject(value)) {
      this.#addWrongType(path, remedy);
      return null;
    }
    for (const key of Object.keys(value)) {
      if (names.includes(key) || isIgnoredKey(key)) continue;
      const near = nearest(key, names);
      const hint = near === null ? `It may have ${names.join(', ')}.` : `Did you mean "${near}"?`;
      const keyText = quote(key) ?? 'such a key';
      const message = `a test case has no ${keyText} here`;
      this.#problems.addAtKey('unknown_key', memberPath(path, key), message, hint);
    }
    return value;
  }

  #list(value: Json | undefined, path: string, remedy: string): readonly Json[] {
    if (value === undefined || value === null) return [];
    if (isList(value)) return value;
    this.#addWrongType(path, remedy);
    return [];
  }

  /** Reads one value, or a list of values. */
  #oneOrMore<T>(
    value: Json | undefined,
    path: string,
    read: (one: Json, path: string) => T,
  ): readonly T[] {
    if (value === undefined || value === null) return [];
    if (!isList(value)) return [read(value, path)];
    if (value.length === 0) {
      this.#problems.add('too_few', path, 'the list is empty', 'Put an entry in it, or remove it.');
    }
    return value.map((one, index) => read(one, `${path}[${index}]`));
  }

  #optional<T>(value: Json | undefined, read: () => T): T | null {
    return value === undefined || value === null ? null : read();
  }

  #addWrongType(path: string, remedy: string): void {
    this.#problems.add('wrong_type', path, 'svc try cannot read this', remedy);
  }
}
