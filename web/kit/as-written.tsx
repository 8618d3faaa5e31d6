import { useMemo } from 'react';
import { needsQuotes, partsOf } from './visible.ts';

type Props = {
  readonly text: string;
  /** Whether the text may have several lines; otherwise it is a name, or something as short. */
  readonly lines?: boolean;
};

/**
 * Shows what others wrote: it turns no text around it, hides nothing, and a blank name is in
 * quotes. Where only a plain text can be shown, use `visible`.
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
