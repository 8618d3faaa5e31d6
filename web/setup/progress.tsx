import { stepNames, type StepName } from '../../apps/setup/setup.ts';

const labels: Readonly<Record<StepName, string>> = {
  file: 'File',
  model: 'Model',
  answer: 'First answer',
  channel: 'Channel',
  secrets: 'Secrets',
  access: 'Who may talk',
  write: 'Write and start',
  first_message: 'First message',
  last: 'Done',
};

/** Where one is on the way. */
export function Progress({ step }: { readonly step: StepName }) {
  const now = stepNames.indexOf(step);
  return (
    <nav aria-label="Steps">
      <ol className="flex list-none flex-wrap gap-x-3 gap-y-1 text-sm">
        {stepNames.map((name, index) => (
          <li
            key={name}
            aria-current={name === step ? 'step' : undefined}
            className="inline-flex items-center gap-1.5 text-soft aria-[current=step]:font-semibold aria-[current=step]:text-ink"
          >
            <span
              aria-hidden="true"
              className={`inline-block size-2.5 rounded-full border-2 ${index < now ? 'border-good bg-good' : index === now ? 'border-accent bg-accent' : 'border-edge'} forced-colors:border-[CanvasText]`}
            />
            {labels[name]}
            {index < now ? <span className="sr-only"> (passed)</span> : null}
          </li>
        ))}
      </ol>
    </nav>
  );
}
