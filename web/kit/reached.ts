/** Whether the service answers this page, told by whoever asks it something. */
import { create } from 'zustand';

type Reached = {
  /** When the first of the questions that nobody answered was given up; null: it answers. */
  readonly goneSince: number | null;
  /** The last time that it did not answer, once that is over; null: none, or it is seen. */
  readonly wasGone: { readonly since: number; readonly until: number } | null;
};

export const useReached = create<Reached>(() => ({ goneSince: null, wasGone: null }));

/** @param answered whether anything came back, be it a refusal */
export function noteReached(answered: boolean): void {
  const { goneSince } = useReached.getState();
  if (answered === (goneSince === null)) return;
  if (goneSince === null) useReached.setState({ goneSince: Date.now(), wasGone: null });
  else {
    useReached.setState({ goneSince: null, wasGone: { since: goneSince, until: Date.now() } });
  }
}

/** The person has seen that it answers again. */
export function forgetGone(): void {
  useReached.setState({ wasGone: null });
}
