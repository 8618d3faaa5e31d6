import { OneOf } from '../one-of.tsx';
import { spanNames, spans, useSpan } from './over-time.ts';

/** How far back the lines of this page go; it is in the page's address. */
export function SpanChoice() {
  return (
    <OneOf
      name="How far back"
      field="span"
      values={spanNames}
      chosen={useSpan()}
      say={(span) => spans[span].label}
    />
  );
}
