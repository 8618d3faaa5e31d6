import { channelName } from '../../../src/channels/registry.ts';
import type { ApprovalRow, ApprovalText } from '../../../src/domain/approval.ts';
import { Asking } from '../../kit/asking.tsx';
import { AsWritten } from '../../kit/as-written.tsx';
import { Button } from '../../kit/button.tsx';
import { useAsked } from '../../kit/use-asked.ts';
import { moment } from '../../kit/words.ts';
import { ConversationOf } from '../links/conversation-of.tsx';
import { OperatorOnly } from '../operator-only.tsx';
import { describeDecider } from './approval-words.ts';
import { Arguments } from './arguments.tsx';
import type { Wish } from './deciding.tsx';

type Props = {
  readonly row: ApprovalRow;
  readonly onWish: (wish: Wish) => void;
};

/** The details of one call, and buttons to decide it. */
export function OpenedApproval({ row, onWish }: Props) {
  return (
    <div className="flex flex-col gap-3 rounded-md bg-raised p-3">
      <OperatorOnly may="see what a call asks for, and decide it">
        <Asked row={row} onWish={onWish} />
      </OperatorOnly>
    </div>
  );
}

function Asked({ row: { id, state, tool }, onWish }: Props) {
  const { value, refused } = useAsked<ApprovalText>(`approvals/${encodeURIComponent(id)}`);
  if (value === null) {
    return <Asking refused={refused} />;
  }
  return (
    <>
      <Whose approval={value} />
      <Arguments of={value} />
      {value.code === null ? null : (
        <p className="text-soft">
          Approvers can also write its code in their chat: <code>{value.code}</code>
        </p>
      )}
      {state === 'waiting' ? (
        <p className="flex flex-wrap gap-2">
          <Button
            kind="main"
            aria-label={`Approve ${tool} …`}
            onClick={() => onWish({ approval: value, word: 'approve' })}
          >
            Approve …
          </Button>
          <Button
            kind="danger"
            aria-label={`Refuse ${tool} …`}
            onClick={() => onWish({ approval: value, word: 'refuse' })}
          >
            Refuse …
          </Button>
        </p>
      ) : null}
    </>
  );
}

function Whose({ approval }: { readonly approval: ApprovalText }) {
  const { sender, channel, messageId, decidedBy, askedAt, expiresAt } = approval;
  return (
    <p className="wrap-anywhere">
      Asked for <AsWritten text={sender.name ?? sender.id} />
      {sender.name === null ? null : (
        <>
          {' '}
          (<AsWritten text={sender.id} />)
        </>
      )}{' '}
      on {channelName(channel)}, in the conversation <ConversationOf message={messageId} />, at{' '}
      {moment(askedAt)}.{' '}
      {decidedBy === null ? (
        `Without a yes until ${moment(expiresAt)} it does not run.`
      ) : (
        <>
          Decided by <AsWritten text={describeDecider(decidedBy)} />.
        </>
      )}
    </p>
  );
}
