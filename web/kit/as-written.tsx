import { useMemo } from 'react';
import { needsQuotes, partsOf } from './visible.ts';

type Props = {
  readonly text: string;
  /** True: the text may have several lines. False: it is a name or another short text. */
  readonly lines?: boolean;
};

/**
 * Shows text of other people safely. The text cannot change the direction of the text around it,
 * hides no characters, and a blank name is in quotes. Where only plain text is possible, use
 * `visible`.
 */
export function AsWritten({ text, lines = false }: Props) {
  const parts = useMemo(() => partsOf(text, lines), [text, lines]);
  const isQuoted = !lines && needsQuotes(text);
  return (
    <bdi className={isQuoted ? 'whitespace-pre-wrap' : undefined}>
      {isQuoted ? '“' : null}
      {parts.map(({ kind, text: shown }, index) =>
        kind === 'text' ? (
          shown
        ) : (
          // oxlint-disable-next-line react/no-array-index-key -- parts never move
          <span key={index} className="mx-px rounded-xs border border-wait px-0.5 text-wait">
            {shown}
          </span>
        ),
      )}
      {isQuoted ? '”' : null}
    </bdi>
  );
}
