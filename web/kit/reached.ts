/** Whether the service answers this page. Every request reports it. */
import { create } from 'zustand';

type Reached = {
  /** The time of the first of the unanswered requests; null: the service answers. */
  readonly goneSince: number | null;
  /** The last interruption, once it is over; null: none, or the person has seen it. */
  readonly wasGone: { readonly since: number; readonly until: number } | null;
};

export const useReached = create<Reached>(() => ({ goneSince: null, wasGone: null }));

/** @param answered true for any answer, also a refusal */
export function noteReached(answered: boolean): void {
  const { goneSince } = useReached.getState();
  if (answered === (goneSince === null)) return;
  if (goneSince === null) useReached.setState({ goneSince: Date.now(), wasGone: null });
  else {
    useReached.setState({ goneSince: null, wasGone: { since: goneSince, until: Date.now() } });
  }
}

/** Called when the person has seen that the service answers again. */
export function forgetGone(): void {
  useReached.setState({ wasGone: null });
}
