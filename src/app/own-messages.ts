/** What svc says by itself: that a call waits for a yes or was decided, and that one is let in. */
import { keepApprovals, type ApprovalKeepingDeps } from './approval-upkeep.ts';
import { keepWelcoming, type WelcomingDeps } from './welcome.ts';

/** @returns ends it */
export function keepOwnMessages(deps: ApprovalKeepingDeps & WelcomingDeps): () => void {
  const ends = [keepApprovals(deps), keepWelcoming(deps)];
  return () => ends.forEach((end) => end());
}
