import { useEffect, useState, type ComponentType } from 'react';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

/**
 * A component that loads when it is first shown. A loaded component stays; after a failed load the
 * person can try again.
 * @param name of the component, without "the"
 */
export function late(name: string, load: () => Promise<ComponentType>): ComponentType {
  let loaded: ComponentType | null = null;
  const loadOnce = async (): Promise<ComponentType> => (loaded ??= await load());
  return function Late() {
    const [part, setPart] = useState<{ readonly Part: ComponentType } | 'loading' | 'failed'>(() =>
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
    if (part !== 'failed') return <part.Part />;
    return (
      <div className="grid justify-items-start gap-3 p-4">
        <Notice tone="bad">The {name} could not be loaded from the service.</Notice>
        <Button onClick={() => setPart('loading')}>Try again</Button>
      </div>
    );
  };
}
