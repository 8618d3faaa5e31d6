/** A state as a word with a mark, and the tones of the API's states. */
import type { ReactNode } from 'react';

export type Tone = 'good' | 'wait' | 'bad' | 'off';

const colours: Readonly<Record<Tone, string>> = {
  good: 'text-good',
  wait: 'text-wait',
  bad: 'text-bad',
  off: 'text-soft',
};

/** A round, a turned and a straight mark, so that colour is not the only sign of a state. */
const marks: Readonly<Record<Tone, string>> = {
  good: 'rounded-full',
  wait: 'rotate-45 rounded-[1px]',
  bad: '',
  off: 'rounded-full border-2 border-current bg-transparent!',
};

/** A state in one word, with a mark before it. */
export function State({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className={`inline-flex items-center gap-1.5 font-medium ${colours[tone]}`}>
      <span
        aria-hidden="true"
        className={`inline-block size-2.5 shrink-0 bg-current forced-colors:bg-[CanvasText] ${marks[tone]}`}
      />
      {children}
    </span>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  ok: 'good',
  up: 'good',
  allow: 'good',
  starting: 'wait',
  stopping: 'wait',
  late: 'wait',
  degraded: 'wait',
  shadow: 'wait',
  ask: 'wait',
  failing: 'bad',
  failed: 'bad',
  deny: 'bad',
};

/** The tone for a state's name in the API; an unknown state is `off`. */
export const toneOf = (state: string): Tone => tones[state] ?? 'off';
