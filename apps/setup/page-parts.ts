/** What pages are put together from. Pure. */
import type { Choice, Field, Line, Page, StepName } from './setup.ts';
import type { SetupState } from './state.ts';

/** A page; what is left out is empty. */
export function page(
  step: StepName,
  title: string,
  { lines = [], fields = [], choices = [], work = null }: Partial<Page>,
): Page {
  return { step, title, lines, fields, choices, work };
}

export const text = (words: string): Line => ({ kind: 'text', text: words });
export const good = (words: string): Line => ({ kind: 'good', text: words });
export const bad = (words: string): Line => ({ kind: 'bad', text: words });
export const code = (words: string): Line => ({ kind: 'code', text: words });
export const quote = (words: string): Line => ({ kind: 'quote', text: words });

export function choice(id: string, label: string, more: Partial<Choice> = {}): Choice {
  return { id, label, hint: null, takes: [], role: 'forward', ...more };
}

export function textField(name: string, label: string, value = ''): Field {
  return { name, label, kind: 'text', value, isOptional: false };
}

export function secretField(name: string, isOptional = false): Field {
  return { name, label: name, kind: 'secret', value: '', isOptional };
}

/** What stands at the end of every page before something is written. */
export function backOrLeave(state: Pick<SetupState, 'trail' | 'facts'>): Choice[] {
  const back = state.trail.length === 0 ? [] : [choice('back', 'Back', { role: 'back' })];
  return [...back, ...leaving(state)];
}

/** A window is left by closing it. */
export function leaving({ facts: { frontend } }: Pick<SetupState, 'facts'>): Choice[] {
  if (frontend === 'window') return [];
  return [choice('leave', 'Leave; nothing is written', { role: 'leave' })];
}
