import { useState } from 'react';
import type { StorageBackend } from '../../../src/domain/remedy.ts';
import type { DeadLetter, DeadLetterReason } from '../../../src/domain/story.ts';
import { Link } from '../../kit/link.tsx';
import { Notice } from '../../kit/notice.tsx';
import { Panel } from '../../kit/panel.tsx';
import { usePlace } from '../../kit/place.ts';
import { useToken } from '../../kit/token.ts';
import { useAsked } from '../../kit/use-asked.ts';
import { useNow } from '../../kit/use-now.ts';
import { useStorage } from '../../kit/watch.ts';
import { spaced } from '../../kit/words.ts';
import { OperatorOnly } from '../operator-only.tsx';
import { lettersIn } from '../links/of-story.ts';
import { usePagesOf } from '../links/use-of-message.ts';
import { Paged } from '../paged.tsx';
import { useRefresh } from '../use-refresh.ts';
import { boxWords, isWithin, type Narrowing } from './letter-words.ts';
import { Letters } from './letters.tsx';
import { MovingDialog, type Wish } from './moving.tsx';
import { Reasons } from './reasons.tsx';

/** Dead letters: the reasons, and an operator's actions. */
export function DeadLetters() {
  const narrowing = useNarrowing();
  const now = useNow();
  const reasons = useAsked<{ readonly rows: readonly DeadLetterReason[] }>('dead-letters/reasons');
  const letters = usePagesOf<DeadLetter>('dead-letters', narrowing.message, lettersIn);
  const again = (): void => {
    reasons.again();
    letters.again();
  };
  useRefresh(['dead_letter', 'operator_wrote'], again);
  // Known from the start, since the text above the rows must not appear after them.
  const storage = useStorage((known) => known.storage);
  const isOperator = useToken((state) => state.token) !== null;
  const [wish, setWish] = useState<Wish | null>(null);
  const onWish = isOperator && storage !== null && storage !== 'memory' ? setWish : null;
  return (
    <>
      <Panel title="Dead letters">
        <p className="max-w-prose text-soft">
          What svc tries no more: messages that could not be answered and replies that could not be
          delivered. They wait here for a decision; after the time that storage.retention_days gives
          they are deleted.
        </p>
        <MayMove storage={storage} />
        <Reasons asked={reasons} narrowing={narrowing} onWish={onWish} />
      </Panel>
      <Panel
        title={titleOf(narrowing)}
        aside={
          narrowing.message === null ? null : (
            <Link to={{ view: 'dead-letters' }}>All dead letters</Link>
          )
        }
      >
        <Paged pages={letters} words={['dead letter read', 'dead letters read']}>
          {(rows) => {
            const shown = rows.filter((letter) => isWithin(letter, narrowing));
            return <Letters key={titleOf(narrowing)} letters={shown} onWish={onWish} now={now} />;
          }}
        </Paged>
      </Panel>
      {wish === null ? null : (
        <MovingDialog wish={wish} onClose={() => setWish(null)} onMoved={again} />
      )}
    </>
  );
}

function useNarrowing(): Narrowing {
  const { reason = null, box = null, message = null } = usePlace();
  return { reason, box, message };
}

function titleOf({ reason, box, message }: Narrowing): string {
  if (message !== null) return `Of message ${message}`;
  const of = box === 'in' || box === 'out' ? `, ${boxWords[box]}` : '';
  return reason === null ? 'Newest first' : `Only ${spaced(reason)}${of}, newest first`;
}

/** Without storage, svc only reports dead letters; with storage, an operator can move them. */
function MayMove({ storage }: { readonly storage: StorageBackend | null }) {
  if (storage === 'memory') {
    return (
      <Notice tone="wait">
        Without storage a dead letter is told and not kept: it cannot be replayed. Add the storage
        block to keep the next ones.
      </Notice>
    );
  }
  return <OperatorOnly may="replay or discard them">{null}</OperatorOnly>;
}
