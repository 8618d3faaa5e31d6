import { Refusal } from '../../kit/notice.tsx';
import { some } from '../../kit/words.ts';
import { Growing, Result } from './result.tsx';
import type { Run } from './trials.ts';

/** The progress of a trial, or its result. */
export function TrialView({ run }: { readonly run: Run }) {
  const { now } = run;
  switch (now.kind) {
    case 'asking':
      return now.text === '' ? <p className="text-soft">Asking …</p> : <Growing text={now.text} />;
    case 'told':
      return <Result result={now.result} />;
    case 'refused':
      return <TrialRefused run={run} />;
    default:
      return now satisfies never;
  }
}

function TrialRefused({ run: { now } }: { readonly run: Run }) {
  if (now.kind !== 'refused') return null;
  const { refused } = now;
  if (refused.code === 'given_up') return <p className="text-soft">It was stopped.</p>;
  const { problems } = refused.extra;
  const count = Array.isArray(problems) ? problems.length : 0;
  return (
    <>
      <Refusal refused={refused} />
      {count === 0 ? null : (
        <p className="text-soft">{some(count, 'problem')} of the draft; the review lists them.</p>
      )}
    </>
  );
}
