import { useMemo } from 'react';
import type { ConfigOnDisk } from '../../../src/config/config-control.ts';
import { changesOf } from '../../../src/config/changes/changes.ts';
import { locate } from '../../../src/config/locate.ts';
import { Button } from '../../kit/button.tsx';
import { LineDiff } from './line-diff.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { baseDocument, useDraft } from '../document/store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { apply } from './applying.ts';
import { ChangeList } from './change-list.tsx';
import { LookAgain } from './look-again.tsx';
import { NotRead } from './not-read.tsx';

type Props = {
  /** The text that was to replace the file. */
  readonly sent: string;
};

/**
 * Shows a text that somebody wrote into the file by hand, before the draft replaces it. The service
 * adds the replaced text to the history.
 */
export function HandEdit({ sent }: Props) {
  const { value: disk, refused, again } = useAsked<ConfigOnDisk>('config/disk');
  return (
    <div className="mt-2 flex flex-col gap-3 text-ink">
      <NotRead refused={refused} again={again} />
      {disk === null ? null : (
        <>
          {disk.text === null ? <p>{disk.why}</p> : <Edit text={disk.text} sent={sent} />}
          <div className="flex flex-wrap gap-x-2">
            {disk.text === null ? null : <TakeUp text={disk.text} />}
            <Button
              small
              kind="danger"
              className="mt-2"
              onClick={() => void apply({ text: sent, edited: disk.revision })}
            >
              Put mine over it; the edit is kept in the history
            </Button>
            <LookAgain />
          </div>
        </>
      )}
    </div>
  );
}

function Edit({ text, sent }: { readonly text: string; readonly sent: string }) {
  const base = useDraft((state) => state.base);
  const changes = useMemo(() => {
    const { value } = locate(text);
    return base !== null && isObject(value) ? changesOf(baseDocument(base), value) : null;
  }, [base, text]);
  return (
    <>
      {changes === null ? (
        <p>The file is no JSON as it was edited.</p>
      ) : (
        <>
          <p>Against what is in use, the file says:</p>
          <ChangeList changes={changes} none="Nothing else: its layout alone was edited." />
        </>
      )}
      <p>What putting yours over it would change there:</p>
      <LineDiff name="The file, and yours over it" before={text} after={sent} />
    </>
  );
}

/**
 * Makes the text of the file the draft, so that applying it replaces only the configuration in use.
 */
function TakeUp({ text }: { readonly text: string }) {
  return (
    <Button small className="mt-2" onClick={() => useDraft.getState().replace(text)}>
      Make the edit my draft
    </Button>
  );
}
