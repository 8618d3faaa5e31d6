/** Whether the service answers this page, told by whoever asks it something. */
import { create } from 'zustand';

type Reached = {
  /** When the first of the questions that nobody answered was given up; null: it answers. */
  readonly goneSince: number | null;
};

export const useReached = create<Reached>(() => ({ goneSince: null }));

/** @param answered whether anything came back, be it a refusal */
export function noteReached(answered: boolean): void {
  const { goneSince } = useReached.getState();
  if (answered === (goneSince === null)) return;
  useReached.setState({ goneSince: answered ? null : Date.now() });
}
