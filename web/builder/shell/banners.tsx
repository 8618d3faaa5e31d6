import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import { ago } from '../../kit/words.ts';
import { forgetKept, useKept } from '../document/kept.ts';
import { useDraft } from '../document/store.ts';

/** The draft of an earlier visit: taken up again, or offered where it began from something else. */
export function Banners() {
  const kept = useKept((state) => state.kept);
  const onSeen = (): void => useKept.setState({ kept: null });
  const base = useDraft((state) => state.base);
  if (kept === null || base === null) return null;
  const goesOn = kept.revision === base.revision;
  const discard = (): void => {
    forgetKept();
    if (goesOn) useDraft.getState().replace(base.text);
    onSeen();
  };
  const takeUp = (): void => {
    useDraft.getState().replace(kept.text);
    onSeen();
  };
  return (
    <div className="px-3 pt-3">
      <Notice tone="wait">
        <div className="flex flex-wrap items-center gap-2">
          <p className="min-w-0 flex-1 basis-64">
            {goesOn
              ? `Your draft is here again, as you left it ${ago(kept.savedAt)}.`
              : `There is a draft from ${ago(kept.savedAt)}. The configuration in use has been ` +
                'changed since: what it changed would be taken back by that draft.'}
          </p>
          {goesOn ? (
            <Button small onClick={onSeen}>
              Go on with it
            </Button>
          ) : (
            <Button small onClick={takeUp}>
              Take up the draft
            </Button>
          )}
          <Button small kind="danger" onClick={discard}>
            Throw it away
          </Button>
        </div>
      </Notice>
    </div>
  );
}
