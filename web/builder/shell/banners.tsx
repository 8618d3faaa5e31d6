import type { ReactNode } from 'react';
import { useApplication } from '../../kit/application.ts';
import { useArrival } from '../../kit/arrival.ts';
import { Button, ButtonLink } from '../../kit/button.tsx';
import { ComeBack } from '../../kit/come-back.tsx';
import { Notice } from '../../kit/notice.tsx';
import { useGone } from '../../kit/watch.ts';
import { ago, some } from '../../kit/words.ts';
import { dropResumed, goOn, setAside, takeUp, throwAway, useKeeping } from '../document/keeping.ts';
import type { KeptDraft } from '../document/kept.ts';
import { useDraft } from '../document/store.ts';
import { signInAgain } from './leaving.tsx';
import { unkeptWords } from './unkept-words.ts';

/**
 * Banners about the application around, and about drafts: this one goes on, there are others, this
 * one is not kept.
 */
export function Banners() {
  const { resumed, offered, unkept } = useKeeping();
  const [first] = offered;
  return (
    <>
      <Around />
      {resumed === null ? null : <Resumed kept={resumed} />}
      {first === undefined ? null : (
        <Offered key={first.id} kept={first} more={offered.length - 1} />
      )}
      {/* While a text is written in the JSON tab it is no JSON now and then: it says so itself. */}
      {unkept === null || unkept.kind === 'no_json' ? null : (
        <Banner words={`This draft lasts as long as the page: ${unkeptWords(unkept)}`} />
      )}
    </>
  );
}

/** svc has ended, or takes this page's token no more: the draft stays, and there is a way on. */
function Around() {
  const { isGone } = useGone();
  const { now } = useArrival();
  const { isThere, page } = useApplication();
  if (isGone && page !== null) {
    return (
      <Banner words="svc has ended, so nothing can be applied now. Your draft stays.">
        <ButtonLink small kind="main" href={page}>
          See why
        </ButtonLink>
      </Banner>
    );
  }
  if (now.kind !== 'out' || now.why === null) return null;
  return (
    <Banner words={`${now.why} Your draft stays.`}>
      {isThere ? <ComeBack /> : null}
      <Button small onClick={signInAgain}>
        Sign in with a token …
      </Button>
    </Banner>
  );
}

function Resumed({ kept }: { readonly kept: KeptDraft }) {
  const words = kept.more
    ? `Your draft is here as it was ${ago(kept.savedAt)}. What you wrote after that was not kept.`
    : `Your draft is here again, as you left it ${ago(kept.savedAt)}.`;
  return (
    <Banner words={words}>
      <Button small onClick={goOn}>
        Go on with it
      </Button>
      <Button small kind="danger" onClick={dropResumed}>
        Throw it away
      </Button>
    </Banner>
  );
}

type OfferedProps = { readonly kept: KeptDraft; readonly more: number };

/** A draft of another tab or an earlier visit; or something else came into use since. */
function Offered({ kept, more }: OfferedProps) {
  const isOfBase = useDraft((state) => state.base?.revision === kept.revision);
  const others = more === 0 ? '' : ` ${some(more, 'more is', 'more are')} there too.`;
  const from = isOfBase
    ? 'It is of another tab or of an earlier visit.'
    : 'The configuration in use has been changed since: what it changed would be taken back by ' +
      'that draft.';
  return (
    <Banner words={`There is a draft from ${ago(kept.savedAt)}. ${from}${others}`}>
      <Button small onClick={() => takeUp(kept)}>
        Take up the draft
      </Button>
      <Button small onClick={() => setAside(kept)}>
        Not now
      </Button>
      <Button small kind="danger" onClick={() => throwAway(kept)}>
        Throw it away
      </Button>
    </Banner>
  );
}

function Banner({ words, children }: { readonly words: string; readonly children?: ReactNode }) {
  return (
    <div className="px-3 pt-3">
      <Notice tone="wait">
        <div className="flex flex-wrap items-center gap-2">
          <p className="min-w-0 flex-1 basis-64 break-words">{words}</p>
          {children}
        </div>
      </Notice>
    </div>
  );
}
