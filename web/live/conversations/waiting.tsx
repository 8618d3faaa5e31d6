/** The waiting messages of a conversation under takeover, and the answer to them. */
import { useId, useRef, useState } from 'react';
import type { Media } from '../../../src/domain/message.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { ask, type Refused } from '../../kit/api.ts';
import { Button } from '../../kit/button.tsx';
import { Field, inputLook } from '../../kit/field.tsx';
import { Refusal } from '../../kit/notice.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { moment, some } from '../../kit/words.ts';
import { Words } from '../words.tsx';

type Row = {
  readonly id: string;
  readonly acceptedAt: number;
  readonly sender: { readonly id: string; readonly name: string | null };
  readonly text: string;
  readonly media: Media | null;
};

/** The number of unanswered messages of the conversation, and the time of that count. */
export type Counted = { readonly waiting: number; readonly at: number };

type Props = {
  /** API paths: `path` takes an answer, `read` lists the waiting messages. */
  readonly path: string;
  readonly read: string;
  readonly counted: Counted;
  /** The text of the answer so far. */
  readonly written: string;
  readonly onWrite: (text: string) => void;
  readonly done: () => void;
};

/**
 * The waiting messages of a conversation under takeover, after a press, and the form to answer
 * them.
 */
export function Waiting({ path, read, counted, written, onWrite, done }: Props) {
  const [wanted, setWanted] = useState(false);
  const { value, answeredAt, refused, again } = useAsked<{ readonly rows: readonly Row[] }>(
    wanted ? read : null,
  );
  const rows = value?.rows ?? null;
  const isNewer = answeredAt !== null && counted.at > answeredAt;
  const more = rows === null || !isNewer ? 0 : counted.waiting - rows.length;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        <Button small={wanted} aria-expanded={wanted} onClick={() => setWanted(!wanted)}>
          {wanted ? 'Hide' : 'Reveal'} what waits
        </Button>
        {wanted ? (
          <Button small onClick={again}>
            Look again
          </Button>
        ) : null}
      </div>
      {wanted ? <Refusal refused={refused} /> : null}
      {wanted && rows === null && refused === null ? <Asking /> : null}
      {wanted && rows !== null ? (
        <>
          <Messages rows={rows} />
          <p role="status" className="text-soft empty:hidden">
            {more > 0 ? `Not shown yet: ${some(more, 'message')}.` : null}
          </p>
          <Answer
            path={path}
            rows={rows}
            written={written}
            onWrite={onWrite}
            done={() => {
              again();
              done();
            }}
          />
        </>
      ) : null}
    </div>
  );
}

function Messages({ rows }: { readonly rows: readonly Row[] }) {
  if (rows.length === 0) return <p className="text-soft">Nothing waits for an answer.</p>;
  return (
    <ol aria-label="What waits, the oldest first" className="flex flex-col gap-3">
      {rows.map(({ id, acceptedAt, sender, text, media }) => (
        <li key={id} className="flex flex-col gap-1">
          <p className="text-sm text-soft wrap-anywhere">
            {moment(acceptedAt)} · <AsWritten text={sender.name ?? sender.id} />
            {media === null ? null : ' · with an attachment'}
          </p>
          <Words>{text}</Words>
        </li>
      ))}
    </ol>
  );
}

type AnswerProps = Omit<Props, 'read' | 'counted'> & { readonly rows: readonly Row[] };

/** Answers all shown messages, and none that came later. */
function Answer({ path, rows, written, onWrite, done }: AnswerProps) {
  const id = useId();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused | null>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  const last = rows.at(-1);
  const send = async (): Promise<void> => {
    setBusy(true);
    const body = { text: written, message: last?.id ?? null };
    const answer = await ask(path, { method: 'POST', body });
    setBusy(false);
    setRefused(answer.kind === 'refused' ? answer : null);
    if (answer.kind === 'ok') onWrite('');
    input.current?.focus();
    done();
  };
  const hint =
    last === undefined
      ? 'There is nothing to answer yet.'
      : `It answers ${rows.length === 1 ? 'this message' : `all ${some(rows.length, 'message')}`}.`;
  return (
    <form
      className="flex max-w-[80ch] flex-col items-start gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div className="w-full">
        <Field id={id} label="Your answer" hint={hint}>
          <textarea
            id={id}
            ref={input}
            rows={4}
            className={inputLook}
            aria-describedby={`${id}-hint`}
            value={written}
            onChange={({ target }) => onWrite(target.value)}
          />
        </Field>
      </div>
      <Refusal refused={refused} />
      <Button
        kind="main"
        type="submit"
        disabled={busy || last === undefined || written.trim() === ''}
      >
        Send the answer
      </Button>
    </form>
  );
}
