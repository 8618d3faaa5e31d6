/**
 * The results as JUnit XML, in the form that CI systems read: a suite for each brain, a case for
 * each test case, and a failure inside it.
 *
 * Format: https://github.com/testmoapp/junitxml and https://docs.gitlab.com/ci/testing/unit_test_reports/
 */
import { plainLine } from '../../lib/plain-text.ts';
import type { CaseRow } from './results.ts';

const nameCharactersMax = 200;

export function junitOf(file: string, cases: readonly CaseRow[]): string {
  const suites = [...Map.groupBy(cases, ({ brain }) => brain)];
  const lines = suites.map(([brain, own]) => suiteOf(brain, own));
  const head = '<?xml version="1.0" encoding="UTF-8"?>\n';
  return `${head}<testsuites ${named(`svc try ${file}`, cases)}>\n${lines.join('')}</testsuites>\n`;
}

function suiteOf(brain: string, cases: readonly CaseRow[]): string {
  const seen = new Map<string, number>();
  const lines = cases.map((told) => {
    const name = plainLine(told.text).slice(0, nameCharactersMax);
    const before = seen.get(name) ?? 0;
    seen.set(name, before + 1);
    return caseOf(before === 0 ? name : `${name} (${before + 1})`, told);
  });
  return `  <testsuite ${named(brain, cases)}>\n${lines.join('')}  </testsuite>\n`;
}

function named(name: string, cases: readonly CaseRow[]): string {
  const failures = cases.filter(({ passed }) => !passed).length;
  const ms = cases.reduce((sum, one) => sum + one.ms, 0);
  return (
    `name="${escaped(name)}" tests="${cases.length}" failures="${failures}" errors="0" ` +
    `skipped="0" time="${secondsOf(ms)}"`
  );
}

/** @param name by which a CI system knows the case again, wherever it stands in the list */
function caseOf(name: string, { brain, passed, ms, failures }: CaseRow): string {
  const who = `name="${escaped(name)}" classname="${escaped(brain)}"`;
  const head = `    <testcase ${who} time="${secondsOf(ms)}"`;
  if (passed) return `${head}/>\n`;
  const message = escaped(failures[0] ?? '');
  const whole = escaped(failures.join('\n'));
  const failure = `      <failure message="${message}" type="expectation">${whole}</failure>\n`;
  return `${head}>\n${failure}    </testcase>\n`;
}

const secondsOf = (ms: number): string => (ms / 1_000).toFixed(3);

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\n': '&#10;',
  '\t': '&#9;',
};

/** What XML 1.0 knows no way to write is left out: https://www.w3.org/TR/xml/#charsets */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Bidi_Control}\uFFFE\uFFFF]/gu, (one) => (/[\n\t]/.test(one) ? one : ''))
    .replace(/[&<>"'\n\t]/g, (one) => entities[one]!);
}
