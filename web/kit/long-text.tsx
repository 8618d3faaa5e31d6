/** Long texts of other people, in full or at their beginning. */
import { Fragment, useState } from 'react';
import { Button } from './button.tsx';
import { beginningOf, piecesOf, shownMax } from './shorten.ts';
import { count } from './words.ts';

type Props = {
  readonly text: string;
  /** The name of the scroll area for screen readers. */
  readonly name: string;
};

/** A text of any length by another author: its beginning, and all of it after a press. */
export function LongText({ text, name }: Props) {
  const [of, setOf] = useState<string | null>(null);
  const whole = of === text;
  if (text.length <= shownMax) {
    return (
      <div className="wrap-anywhere whitespace-pre-wrap">
        <Pieces text={text} />
      </div>
    );
  }
  return (
    <div className="flex flex-col items-start gap-1">
      <div
        role="group"
        aria-label={name}
        tabIndex={0}
        className="max-h-60 w-full overflow-y-auto wrap-anywhere whitespace-pre-wrap"
      >
        <Pieces text={whole ? text : `${beginningOf(text)} …`} />
      </div>
      <Button small aria-expanded={whole} onClick={() => setOf(whole ? null : text)}>
        {whole ? 'Show its beginning alone' : `Show all ${count(text.length)} characters`}
      </Button>
    </div>
  );
}

/** A growing text, scrolled to its end. */
export function GrowingText({ text, name }: Props) {
  if (text.length <= shownMax) return <LongText text={text} name={name} />;
  return (
    <div
      role="group"
      aria-label={name}
      tabIndex={0}
      className="flex max-h-60 w-full flex-col-reverse overflow-y-auto"
    >
      <div className="wrap-anywhere whitespace-pre-wrap">
        <Pieces text={text} />
      </div>
    </div>
  );
}

function Pieces({ text }: { readonly text: string }) {
  return piecesOf(text).map((piece, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- a piece is where it stands
    <Fragment key={index}>
      {index === 0 ? null : <wbr />}
      {piece}
    </Fragment>
  ));
}
