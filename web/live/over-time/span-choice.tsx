import { OneOf } from '../one-of.tsx';
import { spanNames, spans, useSpan } from './over-time.ts';

/** Selects the span of the page's figures; the page's URL holds it. */
export function SpanChoice() {
  return (
    <OneOf
      name="How far back"
      field="span"
      values={spanNames}
      chosen={useSpan()}
      format={(span) => spans[span].label}
    />
  );
}
