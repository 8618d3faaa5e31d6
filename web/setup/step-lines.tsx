import type { Line } from '../../apps/setup/setup.ts';
import { LongText } from '../kit/long-text.tsx';
import { Notice } from '../kit/notice.tsx';
import { ToCopy } from '../kit/to-copy.tsx';

/** The text of a page. Consecutive lines to copy become one block. */
export function StepLines({ lines }: { readonly lines: readonly Line[] }) {
  return (
    <div aria-live="polite" className="flex flex-col gap-3">
      {blocksOf(lines).map((block, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a block is where it stands
        <Block key={index} {...block} />
      ))}
    </div>
  );
}

type BlockOf = { readonly kind: Line['kind']; readonly text: string };

function blocksOf(lines: readonly Line[]): readonly BlockOf[] {
  const blocks: BlockOf[] = [];
  for (const { kind, text } of lines) {
    const before = blocks.at(-1);
    const isMore = kind === 'code' && before?.kind === 'code' && !isAddress(text);
    if (isMore && !isAddress(before.text)) {
      blocks[blocks.length - 1] = { kind, text: `${before.text}\n${text}` };
    } else {
      blocks.push({ kind, text });
    }
  }
  return blocks;
}

/** Whether it is a URL of this machine, which svc serves. */
const isAddress = (text: string): boolean =>
  /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?\/[\w./-]*$/.test(text);

function Block({ kind, text }: BlockOf) {
  switch (kind) {
    case 'text':
      return <p className="wrap-anywhere">{text}</p>;
    case 'good':
      return <Notice tone="good">{text}</Notice>;
    case 'bad':
      return <Notice tone="bad">{text}</Notice>;
    case 'quote':
      return (
        <blockquote className="rounded-md border-s-4 border-edge bg-card px-3 py-2">
          <LongText text={text} name="What was said" />
        </blockquote>
      );
    case 'code':
      return isAddress(text) ? <Address url={text} /> : <ToCopy text={text} />;
    default:
      return kind satisfies never;
  }
}

/** Opens in another tab, since this page would lose its sign-in. */
function Address({ url }: { readonly url: string }) {
  return (
    <p>
      <a href={url} target="_blank" rel="noreferrer" className="wrap-anywhere">
        {url}
      </a>
    </p>
  );
}
