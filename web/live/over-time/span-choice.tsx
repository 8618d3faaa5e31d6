import { Button } from '../../kit/button.tsx';
import { goTo, usePlace } from '../../kit/place.ts';
import { spanNames, spans, useSpan } from './over-time.ts';

/** How far back the lines of this page go; it is in the page's address. */
export function SpanChoice() {
  const place = usePlace();
  const chosen = useSpan();
  return (
    <div role="group" aria-label="How far back" className="flex gap-1">
      {spanNames.map((span) => (
        <Button
          key={span}
          small
          kind={span === chosen ? 'plain' : 'quiet'}
          aria-pressed={span === chosen}
          onClick={() => goTo({ ...place, span }, { replace: true })}
        >
          {spans[span].label}
        </Button>
      ))}
    </div>
  );
}
