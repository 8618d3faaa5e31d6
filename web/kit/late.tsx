import { useEffect, useState, type ComponentType } from 'react';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

type LateComponent<Props> = ComponentType<Props> & {
  /** Loads the component before it is shown. Rejects if the service does not answer. */
  readonly load: () => Promise<unknown>;
};

/**
 * A component that loads when it is first shown. A loaded component stays; after a failed load the
 * person can try again.
 * @param name of the component, without "the"
 */
export function late<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
): LateComponent<Props> {
  type Part = { readonly Part: ComponentType<Props> };
  let loaded: ComponentType<Props> | null = null;
  const loadOnce = async (): Promise<ComponentType<Props>> => (loaded ??= await load());
  function Late(props: Props) {
    const [part, setPart] = useState<Part | 'loading' | 'failed'>(() =>
      loaded === null ? 'loading' : { Part: loaded },
    );
    const isLoading = part === 'loading';
    useEffect(() => {
      let left = false;
      const show = async (): Promise<void> => {
        const next = await loadOnce().then(
          (Part) => ({ Part }),
          () => 'failed' as const,
        );
        if (!left) setPart(next);
      };
      if (isLoading) void show();
      return () => {
        left = true;
      };
    }, [isLoading]);
    if (part === 'loading') return <p className="p-4 text-soft">Loading the {name} …</p>;
    if (part !== 'failed') return <part.Part {...props} />;
    return (
      <div className="grid justify-items-start gap-3 p-4">
        <Notice tone="bad">The {name} could not be loaded from the service.</Notice>
        <Button onClick={() => setPart('loading')}>Try again</Button>
      </div>
    );
  }
  return Object.assign(Late, { load: loadOnce });
}

/** Loads these components, one after the other, so that each opens at once, even without svc. */
export async function loadAhead(
  components: readonly (ComponentType | LateComponent<object>)[],
): Promise<void> {
  try {
    for (const one of components) if ('load' in one) await one.load();
  } catch {
    // svc does not answer: a component loads when a person opens it.
  }
}
