/** The expectation of a test case, and whether the reply meets it. */
import type { TryResult } from '../../../src/admin/config-trials.ts';
import { describeExpectation, type Expectation } from '../../../src/config/test-case.ts';
import { LongText } from '../../kit/long-text.tsx';
import { State } from '../../kit/state.tsx';
import type { Expected } from './cases.ts';
import { verdictOf } from './verdict.ts';

type Props = { readonly expected: Expected };

export function Expects({ expected, name }: Props & { readonly name: string }) {
  switch (expected.kind) {
    case 'any':
      return null;
    case 'told':
      return (
        <div className="text-sm text-soft">
          <LongText text={`Expects: ${describeExpectation(expected.expect)}`} name={name} />
        </div>
      );
    case 'unreadable':
      return (
        <p className="text-sm">
          <State tone="bad">What it expects cannot be read: {expected.why}</State>
        </p>
      );
    default:
      return expected satisfies never;
  }
}

export function Judged({ expected, result }: Props & { readonly result: TryResult }) {
  if (expected.kind !== 'told') return null;
  const misses = verdictOf(expected.expect, result);
  const left = leftOf(expected.expect);
  return (
    <div className="flex flex-col gap-1 text-sm">
      <State tone={misses.length === 0 ? 'good' : 'bad'}>
        {misses.length === 0 ? 'As expected' : 'Not as expected'}
      </State>
      {misses.map((miss) => (
        <LongText key={miss} text={miss} name="What was expected" />
      ))}
      {left === '' ? null : (
        <p className="text-soft">
          {left}: that is for <code>svc try</code> to tell.
        </p>
      )}
    </div>
  );
}

/** Conditions that the page cannot check from one reply. */
function leftOf({ matches, judge, of }: Expectation): string {
  const parts = [
    ...(matches === null ? [] : ['the pattern']),
    ...(judge === null ? [] : ['what the judge says']),
    ...(of.runs === 1 ? [] : [`${of.pass} of ${of.runs} runs`]),
  ];
  return parts.length === 0 ? '' : `Without ${parts.join(' and ')}`;
}
