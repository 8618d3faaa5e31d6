import { useEffect, useRef } from 'react';
import { useNamedTurn } from './turn-links.tsx';

/** A note that the URL names a turn, which shows after the texts are opened. */
export function NamedTurn() {
  const turn = useNamedTurn();
  const place = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'start' });
  }, []);
  if (turn === null) return null;
  return (
    <p ref={place} className="text-soft">
      The link leads to one turn: it is marked below once you reveal what was said.
    </p>
  );
}
