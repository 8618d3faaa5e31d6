import { completionsChannel } from '../../../src/domain/ids.ts';
import type { DeadLetter, DeadLetterText } from '../../../src/domain/story.ts';
import { AsWritten } from '../../kit/as-written.tsx';
import { Button } from '../../kit/button.tsx';
import { Link } from '../../kit/link.tsx';
import { Table, type Column } from '../../kit/table.tsx';
import { length, moment, some, spaced, upper } from '../../kit/words.ts';
import { LetterLinks } from '../links/letter-links.tsx';
import { Words } from '../words.tsx';
import { Reveal } from '../reveal.tsx';
import { boxWords, type Move } from './letter-words.ts';

type Props = {
  readonly letter: DeadLetter;
  readonly onMove: ((move: Move) => void) | null;
};

/** The details of one dead letter. */
export function Letter({ letter, onMove }: Props) {
  const { id, box, messageId, acceptedAt, parts, failure } = letter;
  return (
    <div className="flex flex-col gap-3 rounded-md bg-raised p-3">
      <p className="wrap-anywhere">
        {upper(boxWords[box])}
        {parts > 1 ? `, in ${some(parts, 'part')}` : ''}: <AsWritten text={failure.detail} />. It
        belongs to <Link to={{ view: 'message', id: messageId }}>message {messageId}</Link>,
        accepted {moment(acceptedAt)}.
      </p>
      <LetterLinks message={messageId} />
      <Reveal<DeadLetterText>
        path={`dead-letters/${encodeURIComponent(id)}`}
        what={box === 'in' ? 'what was said' : 'what was to be said'}
      >
        {(text) => <Inside text={text} />}
      </Reveal>
      {onMove === null ? null : (
        <p className="flex flex-wrap gap-2">
          {letter.channel === completionsChannel ? null : (
            <Button small onClick={() => onMove('replay')}>
              Replay …
            </Button>
          )}
          <Button small kind="danger" onClick={() => onMove('discard')}>
            Discard …
          </Button>
        </p>
      )}
    </div>
  );
}

function Inside({ text: { conversation, text, tries } }: { readonly text: DeadLetterText }) {
  return (
    <div className="flex flex-col gap-2">
      <p className="text-sm text-soft wrap-anywhere">
        In the conversation <AsWritten text={conversation} />
      </p>
      {text === null ? <p className="text-soft">Its text is not kept.</p> : <Words>{text}</Words>}
      {tries.length === 0 ? null : (
        <Table
          name="Tries"
          columns={tryColumns}
          rows={tries}
          keyOf={({ startedAt }) => String(startedAt)}
          none=""
        />
      )}
    </div>
  );
}

const tryColumns: readonly Column<DeadLetterText['tries'][number]>[] = [
  { title: 'Tried', cell: ({ startedAt }) => moment(startedAt) },
  { title: 'Took', number: true, cell: ({ ms }) => length(ms) },
  {
    title: 'How it ended',
    cell: ({ failed, status }) => {
      const how = failed === null ? 'delivered' : spaced(failed);
      return status === null ? how : `${how} (status ${status})`;
    },
  },
];
