/** Formats how svc came to an answer, for `svc chat --explain`. */
import { remedyForModel } from '../domain/remedy.ts';
import { describeRule } from '../domain/tool-use.ts';
import {
  describeAnswered,
  describeApproval,
  describeLeftOut,
  describeSight,
  type TraceStep,
} from '../domain/trace.ts';
import { describeRead } from '../domain/attachment.ts';
import { describeRoute } from '../domain/routing.ts';
import type { Answer } from './chat-session.ts';

/** @returns a line for each step, and the total time */
export function explain({ decision, steps, ms }: Answer): string {
  const lines = steps.map(explainStep);
  const last = steps.at(-1);
  if (last?.kind !== 'policy') lines.push(decision.why);
  return [...lines, `${ms} ms in all`].map((line) => `  · ${line}\n`).join('');
}

function explainStep(step: TraceStep): string {
  switch (step.kind) {
    case 'route':
      return describeRoute(step);
    case 'session':
      return `session ${step.session}${step.cut === null ? '' : `, new: ${step.cut}`}`;
    case 'shield': {
      if (step.dropped.length === 0) return `privacy filter: all ${step.kept} models may be asked`;
      return `privacy filter: ${step.dropped.join(', ')} never contacted, ${step.kept} left`;
    }
    case 'sight':
      return describeSight(step);
    case 'file':
      return describeRead(step.part, step.result);
    case 'operator':
    case 'joined':
      return describeAnswered(step);
    case 'approval':
      return describeApproval(step);
    case 'left_out':
      return `${step.models.join(', ')}: ${describeLeftOut(step)}`;
    case 'model': {
      const again = step.tries.length > 1 ? ` after ${step.tries.length} tries` : '';
      const less = step.linesDropped > 0 ? `, ${step.linesDropped} older lines left out` : '';
      const remedy = step.result === 'answer' ? null : remedyForModel(step.result, step.model);
      const summary = `${step.model}: ${step.result}${again} in ${step.ms} ms${less}`;
      const without = step.withoutTools == null ? '' : `, not told of ${step.withoutTools}`;
      const status = step.status == null ? '' : `, status ${step.status}`;
      const quote = step.said == null ? '' : `. Its provider said: "${step.said}"`;
      const cut = step.isCut === true ? ', cut off at a limit of its length' : '';
      return `${summary}${without}${status}${cut}${quote}${remedy === null ? '' : `. ${remedy}`}`;
    }
    case 'tool': {
      const asks = step.mode === 'ask' && step.outcome === 'rehearsed';
      const end = asks ? 'would ask for a yes, not run' : step.outcome;
      return `${step.tool}: ${end} in ${step.ms} ms (${step.mode}, ${describeRule(step.rule)})`;
    }
    case 'policy':
      return `${step.policy}: ${step.winner ?? 'no reply'} (${step.why})`;
    default:
      return step satisfies never;
  }
}
