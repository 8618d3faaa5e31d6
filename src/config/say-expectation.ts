/** What a test case expects, in words: for the builder, and for a line of `svc try`. */
import type { Expectation, ExpectedCall } from './test-case.ts';

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
  const said = parts.length === 0 ? 'any reply' : parts.join(', ');
  return of.runs === 1 ? said : `${said}, in ${of.pass} of ${of.runs} runs`;
}

export function describeCall({ tool, arguments: given }: ExpectedCall): string {
  return given === null ? tool : `${tool} with ${JSON.stringify(given)}`;
}
