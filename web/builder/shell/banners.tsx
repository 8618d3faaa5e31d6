import { Ago } from '../../kit/ago.tsx';
import { Button } from '../../kit/button.tsx';
import { SignedOut } from '../../kit/signed-out.tsx';
import { some } from '../../kit/words.ts';
import { dropResumed, goOn, setAside, takeUp, throwAway, useKeeping } from '../document/keeping.ts';
import type { KeptDraft } from '../document/kept.ts';
import { useDraft } from '../document/store.ts';
import { Banner } from './banner.tsx';
import { Gone } from './gone.tsx';
import { unkeptWords } from './unkept-words.ts';

/**
 * Banners about the service, the signed-in person, and drafts: a continued one, offered ones, one
 * that is not saved.
 */
export function Banners() {
  const { resumed, offered, unkept } = useKeeping();
  const [first] = offered;
  return (
    <>
      <Gone />
      <div className="px-3 pt-3 empty:hidden">
        <SignedOut stays="Your draft stays." />
      </div>
      {resumed === null ? null : <Resumed kept={resumed} />}
      {first === undefined ? null : (
        <Offered key={first.id} kept={first} more={offered.length - 1} />
      )}
      {/* The JSON tab shows itself that a text is no JSON, which is usual while a person types. */}
      {unkept === null || unkept.kind === 'no_json' ? null : (
        <Banner words={`This draft lasts as long as the page: ${unkeptWords(unkept)}`} />
      )}
    </>
  );
}

function Resumed({ kept }: { readonly kept: KeptDraft }) {
  const words = kept.more ? (
    <>
      Your draft is here as it was <Ago at={kept.savedAt} />. What you wrote after that was not
      kept.
    </>
  ) : (
    <>
      Your draft is here again, as you left it <Ago at={kept.savedAt} />.
    </>
  );
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

/** A draft of another tab, of an earlier visit, or of a former configuration. */
function Offered({ kept, more }: OfferedProps) {
  const isOfBase = useDraft((state) => state.base?.revision === kept.revision);
  const others = more === 0 ? '' : ` ${some(more, 'more is', 'more are')} there too.`;
  const from = isOfBase
    ? 'It is of another tab or of an earlier visit.'
    : 'The configuration in use has been changed since: what it changed would be taken back by ' +
      'that draft.';
  return (
    <Banner
      words={
        <>
          There is a draft from <Ago at={kept.savedAt} />. {from}
          {others}
        </>
      }
    >
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
