import { useState } from 'react';
import type { Work } from '../../apps/setup/setup.ts';
import { useNow } from '../kit/use-now.ts';
import { lasted } from '../kit/words.ts';

/** What goes on; the seconds are for the eye alone, or a screen reader would read each. */
export function Working({ work: { text, slow } }: { readonly work: Work }) {
  const now = useNow();
  const [since] = useState(now);
  const isSlow = slow !== null && now - since >= slow.afterMs;
  return (
    <div className="rounded-md border-s-4 border-wait bg-wait-ground px-3 py-2">
      <div role="status">
        <p>{text}</p>
        {isSlow ? <p>{slow.text}</p> : null}
      </div>
      <p aria-hidden="true" className="text-sm text-soft">
        {lasted(since, now)}
      </p>
    </div>
  );
}
