import { useState } from 'react';
import type { NoteText } from '../../../src/domain/note.ts';
import type { ConversationKey } from '../../../src/domain/story.ts';
import { Panel } from '../../kit/panel.tsx';
import { moment } from '../../kit/words.ts';
import { Reveal } from '../reveal.tsx';
import { Words } from '../words.tsx';
import { ConfirmedDelete } from './confirmed.tsx';
import { pathOf } from './path-of.ts';

type Rows = { readonly rows: readonly NoteText[] };

/** What an agent keeps of a conversation for later. */
export function Notes({ of }: { readonly of: ConversationKey }) {
  const [round, setRound] = useState(0);
  const path = `notes/${pathOf(of)}`;
  return (
    <Panel title="Notes">
      <Reveal<Rows> key={round} path={path} what="the notes">
        {({ rows }) =>
          rows.length === 0 ? (
            <p className="text-soft">No agent keeps a note of it.</p>
          ) : (
            <>
              <ul className="flex flex-col gap-2">
                {rows.map(({ at, text }) => (
                  <li key={`${at} ${text}`}>
                    <p className="text-sm text-soft">{moment(at)}</p>
                    <Words>{text}</Words>
                  </li>
                ))}
              </ul>
              <div>
                <ConfirmedDelete
                  label="Delete the notes"
                  question="Delete the notes of this conversation?"
                  path={path}
                  onDone={() => setRound((before) => before + 1)}
                >
                  <p>The agent forgets them; its turns stay. They cannot be brought back.</p>
                </ConfirmedDelete>
              </div>
            </>
          )
        }
      </Reveal>
    </Panel>
  );
}
