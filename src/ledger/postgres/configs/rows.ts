/**
 * What instances said of a proposal, as JSON. It may be of another release: fields that this one
 * does not know are left out, a no that cannot be read stays a no, and an end that cannot be read
 * is one.
 * What is in use is not told by it, but by what stands in `svc.config`.
 */
import type {
  ClosedWhy,
  InstanceRefusal,
  NamedInstance,
  ProposalEnd,
  VoteRefusal,
} from '../../../cluster/shared-configs.ts';

type Fields = Readonly<Record<string, unknown>>;

const whys: readonly ClosedWhy[] = ['moved', 'late', 'withdrawn'];

export function readRefusal(told: string): VoteRefusal {
  return refusalIn(fieldsIn(told));
}

export function readEnd(told: string): ProposalEnd {
  const { kind, n, refusals, why } = fieldsIn(told);
  if (kind === 'used' && typeof n === 'number') return { kind, n };
  if (kind === 'refused' && Array.isArray(refusals)) {
    return { kind, refusals: refusals.map((one) => refusalOf(fieldsOf(one))) };
  }
  return { kind: 'closed', why: whys.find((one) => one === why) ?? 'late' };
}

function refusalOf(told: Fields): InstanceRefusal {
  const { id, host, version } = fieldsOf(told['instance']);
  const instance: NamedInstance = {
    id: typeof id === 'number' ? id : 0,
    host: textOr(host, ''),
    version: textOr(version, ''),
  };
  return { instance, ...refusalIn(told) };
}

function refusalIn({ code, detail }: Fields): VoteRefusal {
  return {
    code: textOr(code, 'unreadable'),
    detail: textOr(detail, 'It says why in words of another release; see its log.'),
  };
}

function fieldsIn(told: string): Fields {
  try {
    return fieldsOf(JSON.parse(told));
  } catch {
    return {};
  }
}

function fieldsOf(told: unknown): Fields {
  return typeof told === 'object' && told !== null ? (told as Fields) : {};
}

function textOr(told: unknown, other: string): string {
  return typeof told === 'string' ? told : other;
}
